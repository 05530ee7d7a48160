"""What pages tell of a trajectory beside its conversation: its row in a list, the tools it may see, what needs what."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_servers.catalogue import TOOLS
from training_worker.prove.importers.certify import VERDICTS
from training_worker.prove.trajectory import Example

from .filters import KINDS, LEVELS, SPLITS
from .models import Trajectory
from .provenance import Fed, feeds_by_edges


@dataclass(frozen=True)
class Row:
    """A trajectory as lists show it."""

    trajectory: Trajectory
    tools: tuple[str, ...]
    servers: tuple[str, ...]
    kind: str
    split: str


def row_of(trajectory: Trajectory) -> Row:
    return Row(
        trajectory,
        tools=tuple(filter(None, trajectory.tools.split(","))),
        servers=tuple(filter(None, trajectory.servers.split(","))),
        kind=dict(KINDS).get(trajectory.kind, trajectory.kind),
        split=dict(SPLITS).get(trajectory.split, trajectory.split),
    )


@dataclass(frozen=True)
class Candidate:
    """A tool that the model is shown; `used` by the ground truth, `known` to today's servers."""

    name: str
    used: bool
    known: bool


@dataclass(frozen=True)
class TruthCall:
    """A call of a ground-truth step; `number` counts the conversation's calls from 1."""

    number: int
    tool: str
    fed: tuple[Fed, ...]


@dataclass(frozen=True)
class TruthStep:
    """A ground-truth step, the numbers of the steps it needs, and the world's digest after it."""

    number: int
    turn: int
    calls: tuple[TruthCall, ...]
    needs: tuple[int, ...]
    digest: str


@dataclass(frozen=True)
class Facts:
    """`verdict` is what servers that others wrote made of its calls; empty where none was asked."""

    candidates: tuple[Candidate, ...]
    steps: tuple[TruthStep, ...]
    opening: str
    level: str
    verdict: str = ""


def facts_of(example: Example) -> Facts:
    used = {call.name for step in example.steps for call in step.calls}
    known = () if example.source else TOOLS
    return Facts(
        candidates=tuple(Candidate(name, name in used, name in known) for name in example.candidates),
        steps=truth(example),
        opening=example.digests[0] if example.digests else "",
        level=dict(LEVELS)[example.level].lower(),
        verdict=VERDICTS[example.check.verdict] if example.check else "",
    )


def truth(example: Example) -> tuple[TruthStep, ...]:
    fed, steps, before = feeds_by_edges(example), [], 0
    for index, step in enumerate(example.steps):
        calls = tuple(
            TruthCall(position + 1, call.name, fed.get(position, ()))
            for position, call in enumerate(step.calls, before)
        )
        needs = tuple(earlier + 1 for earlier, later in example.edges if later == index)
        digest = example.digests[index + 1] if index + 1 < len(example.digests) else ""
        steps.append(TruthStep(index + 1, step.turn + 1, calls, needs, digest))
        before += len(calls)
    return tuple(steps)
