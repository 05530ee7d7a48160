"""The matching of ground-truth calls to model calls, one to one, that coverage and argument values rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..trajectory import ExecutedCall, Json, Step
from .values import differing


@dataclass(frozen=True)
class Pair:
    """A ground-truth call of a step and the model call at `position` that was matched to it."""

    step: int
    position: int
    expected: int
    wrong: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of the `expected` ground-truth arguments whose value is equal; 1 where there are none."""
        return (self.expected - len(self.wrong)) / self.expected if self.expected else 1.0


@dataclass(frozen=True)
class Matching:
    """The matched pairs in ground-truth order, and for each step how many calls it holds and which steps it needs."""

    pairs: tuple[Pair, ...]
    sizes: tuple[int, ...]
    predecessors: tuple[tuple[int, ...], ...]
    positions: tuple[tuple[int, ...], ...]

    def matched(self, step: int) -> bool:
        """m(g): a step is matched when all its calls are."""
        return 0 < self.sizes[step] == len(self.positions[step])

    def in_order(self, step: int) -> bool:
        """o(g): every predecessor is matched, and the last of its calls comes before the first one of this step."""
        first = min(self.positions[step], default=-1)
        return all(self.matched(j) and max(self.positions[j]) < first for j in self.predecessors[step])


def match(steps: Sequence[Step], edges: Iterable[tuple[int, int]], calls: Sequence[ExecutedCall]) -> Matching:
    """Match ground-truth calls in their order; each chooses among the free calls of its name with all its keys.

    It prefers a call after the matched positions of all predecessors of its step, then the one with most equal argument
    values, then the earliest. (The paper leaves the assignment open.) A predecessor that is not matched as a whole has
    no position and bars nothing here; it costs its successors their coverage.
    """
    needs = predecessors(len(steps), edges)
    free: dict[str, dict[int, dict[str, Json]]] = {}
    for position, made in enumerate(calls):
        if made.call.arguments is not None:
            free.setdefault(made.call.name, {})[position] = made.call.arguments
    pairs: list[Pair] = []
    positions: list[tuple[int, ...]] = []
    for index, step in enumerate(steps):
        whole = [positions[j] for j in needs[index] if j < index and 0 < len(steps[j].calls) == len(positions[j])]
        after = max((max(of_step) for of_step in whole), default=-1)
        found: list[Pair] = []
        for truth in step.calls:
            expected = truth.arguments or {}
            pair = choose(index, expected, free.get(truth.name, {}), after)
            if pair is not None:
                del free[truth.name][pair.position]
                found.append(pair)
        pairs.extend(found)
        positions.append(tuple(pair.position for pair in found))
    return Matching(tuple(pairs), tuple(len(step.calls) for step in steps), needs, tuple(positions))


def choose(step: int, expected: dict[str, Json], free: dict[int, dict[str, Json]], after: int) -> Pair | None:
    """The best of the free calls for one ground-truth call, or None when none carries all its keys."""
    best, least = None, (True, len(expected) + 1)
    for position, given in free.items():  # the earliest first, so it wins where others are as good
        if expected.keys() <= given.keys():
            wrong = differing(expected, given)
            if (rank := (position <= after, len(wrong))) < least:
                best, least = Pair(step, position, len(expected), wrong), rank
            if least == (False, 0):
                break
    return best


def predecessors(steps: int, edges: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """For each step the steps it needs."""
    needs: list[list[int]] = [[] for _ in range(steps)]
    for j, g in edges:
        needs[g].append(j)
    return tuple(map(tuple, needs))
