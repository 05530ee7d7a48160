"""Orchestration: the share of ground-truth steps that were called for after all they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from ..trajectory import ExecutedCall, Step
from .matching import predecessors


def orchestration(steps: Sequence[Step], edges: Iterable[tuple[int, int]], calls: Sequence[ExecutedCall]) -> float:
    """The share of steps for which some model call has the name, and every step they depend on was matched earlier
    (arXiv 2603.24709, orchestration). Arguments and success are no part of it.

    The earliest such call counts, and may count for several steps. A step of parallel calls needs one of each name; the
    last of them is its position for its successors.
    """
    places: dict[str, list[int]] = {}
    for position, made in enumerate(calls):
        places.setdefault(made.call.name, []).append(position)
    needs, matched = predecessors(len(steps), edges), dict[int, float]()

    def place_of(g: int) -> float:
        """Where a step is matched, or infinity; what it needs is looked at first, whatever its number."""
        if g not in matched:
            matched[g] = inf  # of steps that need each other none is matched
            after = max(map(place_of, needs[g]), default=-1)
            firsts = (first_after(places.get(call.name, ()), after) for call in steps[g].calls)
            matched[g] = max(firsts, default=inf)
        return matched[g]

    return sum(place_of(g) < inf for g in range(len(steps))) / len(steps)


def first_after(places: Iterable[int], after: float) -> float:
    return next((place for place in places if place > after), inf)
