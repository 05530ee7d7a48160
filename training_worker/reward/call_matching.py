"""One-to-one matching of ground-truth calls to model calls, the basis of coverage and argument values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..core.trajectory import ExecutedCall, Json, Step
from ..dataflow.values import find_differing_keys


@dataclass(frozen=True)
class Pair:
    """A ground-truth call of a step and the model call at `position` that was matched to it."""

    step: int
    position: int
    expected: int
    wrong: tuple[str, ...]

    @property
    def share(self) -> float:
        """Return the share of the `expected` ground-truth arguments with an equal value; 1 if there are none."""
        return (self.expected - len(self.wrong)) / self.expected if self.expected else 1.0


@dataclass(frozen=True)
class MatchResult:
    """The matched pairs in ground-truth order, and for each step its number of calls, predecessors and positions."""

    pairs: tuple[Pair, ...]
    sizes: tuple[int, ...]
    predecessors: tuple[tuple[int, ...], ...]
    positions: tuple[tuple[int, ...], ...]

    def is_matched(self, step: int) -> bool:
        """Return m(g): a step is matched if all its calls are."""
        return 0 < self.sizes[step] == len(self.positions[step])

    def in_order(self, step: int) -> bool:
        """Return o(g): every predecessor is matched, and its last call comes before the first call of this step."""
        first = min(self.positions[step], default=-1)
        return all(self.is_matched(j) and max(self.positions[j]) < first for j in self.predecessors[step])


def match(steps: Sequence[Step], edges: Iterable[tuple[int, int]], calls: Sequence[ExecutedCall]) -> MatchResult:
    """Match ground-truth calls in order; each takes one of the unmatched calls with its name and all its keys.

    It prefers a call after the matched positions of all predecessors of its step, then the most equal argument values,
    then the earliest call. (The paper leaves the assignment open.) A predecessor without a complete match has no
    position and is ignored here; its successors get no coverage.
    """
    needs = predecessors(len(steps), edges)
    free: dict[str, dict[int, dict[str, Json]]] = {}
    for position, made in enumerate(calls):
        if made.call.arguments is not None:
            free.setdefault(made.call.name, {})[position] = made.call.arguments
    pairs: list[Pair] = []
    positions: list[tuple[int, ...]] = []
    for index, step in enumerate(steps):
        complete = [positions[j] for j in needs[index] if j < index and 0 < len(steps[j].calls) == len(positions[j])]
        after = max((max(of_step) for of_step in complete), default=-1)
        found: list[Pair] = []
        for truth in step.calls:
            expected = truth.arguments or {}
            pair = choose(index, expected, free.get(truth.name, {}), after)
            if pair is not None:
                del free[truth.name][pair.position]
                found.append(pair)
        pairs.extend(found)
        positions.append(tuple(pair.position for pair in found))
    return MatchResult(tuple(pairs), tuple(len(step.calls) for step in steps), needs, tuple(positions))


def choose(step: int, expected: dict[str, Json], free: dict[int, dict[str, Json]], after: int) -> Pair | None:
    """Return the best unmatched call for one ground-truth call; None if no call has all its keys."""
    best, least = None, (True, len(expected) + 1)
    for position, given in free.items():  # the earliest call comes first, so it wins a tie
        if expected.keys() <= given.keys():
            wrong = find_differing_keys(expected, given)
            if (rank := (position <= after, len(wrong))) < least:
                best, least = Pair(step, position, len(expected), wrong), rank
            if least == (False, 0):
                break
    return best


def predecessors(steps: int, edges: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Return the predecessors of each step."""
    needs: list[list[int]] = [[] for _ in range(steps)]
    for j, g in edges:
        needs[g].append(j)
    return tuple(map(tuple, needs))
