"""Metadata of a trajectory for pages: its row in a list, its candidate tools and its dependencies."""

from __future__ import annotations

import json
from dataclasses import dataclass

from mcp_servers.catalogue import SERVERS, TOOLS
from training_worker.chat.schemas import function, tool_schema
from training_worker.core.trajectory import Example
from training_worker.datasets.importers.external_replay import VERDICTS

from .choices import KINDS, LEVELS, SPLITS
from .models import Trajectory
from .provenance import SourceCall, feeds_by_edges


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
    """A tool that the model is offered; `used` by the ground truth, `known` to the current servers.

    `schema` is all that the model sees of it, empty for a removed tool. A `far` one is a distractor: its server has no
    tool of the ground truth. `turn` is the user turn, from 1, in which it is offered.
    """

    name: str
    used: bool
    known: bool
    schema: str = ""
    far: bool = False
    turn: int = 1


@dataclass(frozen=True)
class TruthCall:
    """A call of a ground-truth step; `number` counts the conversation's calls from 1."""

    number: int
    tool: str
    fed: tuple[SourceCall, ...]


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
    """Facts of a trajectory.

    `verdict` is the outcome of replays on third-party servers; empty without any. `rules` are the policies of its
    servers, by name, which a model sees only if they are in the system text.
    """

    candidates: tuple[Candidate, ...]
    steps: tuple[TruthStep, ...]
    opening: str
    level: str
    verdict: str = ""
    rules: tuple[tuple[str, str], ...] = ()


def facts_of(example: Example) -> Facts:
    return Facts(
        candidates=candidates(example),
        steps=truth(example),
        opening=example.digests[0] if example.digests else "",
        level=dict(LEVELS)[example.level].lower(),
        verdict=VERDICTS[example.check.verdict] if example.check else "",
        rules=tuple((name, SERVERS[name].policy) for name in example.world.servers if name in SERVERS),
    )


def candidates(example: Example) -> tuple[Candidate, ...]:
    """Return the tools that the model is offered, in the order of the prompt."""
    used = {call.name for step in example.steps for call in step.calls}
    known = () if example.source else TOOLS
    near = {TOOLS[name][0].name for name in used if name in known}
    turns = {name: arrival.turn + 1 for arrival in example.arrivals for name in arrival.tools}
    schemas = {name: schema for name in example.offered if (schema := format_schema(example, name))}
    return tuple(
        Candidate(
            name=name,
            used=name in used,
            known=name in known,
            schema=schemas.get(name, ""),
            far=bool(near) and name in known and TOOLS[name][0].name not in near,
            turn=turns.get(name, 1),
        )
        for name in example.offered
    )


def format_schema(example: Example, name: str) -> str:
    """Return the schema of a candidate as the model sees it; empty for a removed tool."""
    own = [function(tool.name, tool.description, tool.parameters) for tool in example.tools if tool.name == name]
    if example.source or name not in TOOLS:
        return json.dumps(own[0], indent=2, ensure_ascii=False) if own else ""
    return json.dumps(tool_schema(name, example.enums_stripped), indent=2, ensure_ascii=False)


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
