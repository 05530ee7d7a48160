"""Alignment of a rollout's calls with the ground-truth steps: missed steps, surplus calls and dependency edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from training_worker.core.trajectory import Example, Reward, Rollout

ROW, GUTTER, STEP_WIDTH = 64, 40, 7  # pixels: height of a row, width of the column of edges, distance of their lanes


@dataclass(frozen=True)
class NumberedCall:
    """A call, numbered from 1, and its tool."""

    number: int
    tool: str


@dataclass(frozen=True)
class Line:
    """A ground-truth step with the calls matched to it, or, without a step, a call that matches none.

    `state` is done, early (before or without a step it needs), missed or surplus; empty if nothing was matched yet.
    """

    step: int | None
    tools: tuple[str, ...]
    called: tuple[NumberedCall, ...]
    state: str
    needs: tuple[int, ...] = ()
    turn: int = 0


@dataclass(frozen=True)
class Edge:
    """A dependency, drawn from the row of a step to that of one that needs it; `in_order` if the former came first."""

    earlier: int
    later: int
    path: str
    tip: tuple[int, int]
    in_order: bool


@dataclass(frozen=True)
class Alignment:
    lines: tuple[Line, ...]
    edges: tuple[Edge, ...]

    @property
    def height(self) -> int:
        return ROW * len(self.lines)

    @property
    def missed(self) -> int:
        return sum(line.state == "missed" for line in self.lines)

    @property
    def surplus(self) -> int:
        return sum(len(line.called) for line in self.lines if line.step is None)


def align_calls(example: Example, rollout: Rollout, reward: Reward | None) -> Alignment:
    """Return the steps in their order; each unmatched call precedes the first step that was completed after it."""
    matched: dict[int, list[int]] = {}
    for one in reward.evidence if reward else ():
        if one.step is not None:
            matched.setdefault(one.step, []).append(one.call)
    lines = [line_of(example, rollout, reward, step, matched.get(step, [])) for step in range(len(example.steps))]
    lines = with_surplus(lines, rollout, {call for calls in matched.values() for call in calls}) if reward else lines
    return Alignment(tuple(lines), tuple(edges(example, lines, matched, known=reward is not None)))


def line_of(example: Example, rollout: Rollout, reward: Reward | None, step: int, calls: Sequence[int]) -> Line:
    late = {one.step for one in reward.evidence if one.step is not None and one.in_order is False} if reward else set()
    missed = reward is not None and step in reward.missed_steps
    return Line(
        step=step + 1,
        tools=tuple(call.name for call in example.steps[step].calls),
        called=tuple(NumberedCall(call + 1, rollout.calls[call].call.name) for call in calls),
        state="" if reward is None else "missed" if missed else "early" if step in late else "done",
        needs=tuple(earlier + 1 for earlier, later in example.edges if later == step),
        turn=example.steps[step].turn + 1,
    )


def with_surplus(lines: Sequence[Line], rollout: Rollout, matched: set[int]) -> list[Line]:
    placed, waiting = list[Line](), [at for at in range(len(rollout.calls)) if at not in matched]
    for line in lines:
        first = min((call.number - 1 for call in line.called), default=None)
        while waiting and first is not None and waiting[0] < first:
            placed.append(surplus(rollout, waiting.pop(0)))
        placed.append(line)
    return placed + [surplus(rollout, at) for at in waiting]


def surplus(rollout: Rollout, at: int) -> Line:
    name = rollout.calls[at].call.name or "malformed call"
    return Line(step=None, tools=(), called=(NumberedCall(at + 1, name),), state="surplus")


def edges(example: Example, lines: Sequence[Line], matched: dict[int, list[int]], *, known: bool) -> list[Edge]:
    rows = {line.step - 1: at for at, line in enumerate(lines) if line.step is not None}
    found = []
    for earlier, later in sorted(set(example.edges)):
        if earlier not in rows or later not in rows:
            continue
        top, bottom = (ROW * rows[step] + ROW // 2 for step in (earlier, later))
        lane = max(4, GUTTER - 4 - STEP_WIDTH * abs(rows[later] - rows[earlier]))
        in_order = not known or (
            bool(matched.get(earlier) and matched.get(later)) and max(matched[earlier]) < min(matched[later])
        )
        path = f"M {GUTTER} {top} C {lane - 6} {top}, {lane - 6} {bottom}, {GUTTER} {bottom}"
        found.append(Edge(earlier + 1, later + 1, path, (GUTTER, bottom), in_order))
    return found
