"""The orchestration score: the share of ground-truth steps whose tools were called after all steps they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from ..core.trajectory import ExecutedCall, Step
from .call_matching import predecessors


def orchestration(steps: Sequence[Step], edges: Iterable[tuple[int, int]], calls: Sequence[ExecutedCall]) -> float:
    """Return the share of steps for which some model call has the name and all predecessors were matched earlier
    (arXiv 2603.24709, orchestration). Arguments and success do not matter.

    The earliest such call counts, and may count for several steps. A step of parallel calls needs one call of each
    name; the last of them is its position for its successors.
    """
    places: dict[str, list[int]] = {}
    for position, made in enumerate(calls):
        places.setdefault(made.call.name, []).append(position)
    needs, matched = predecessors(len(steps), edges), dict[int, float]()

    def place_of(g: int) -> float:
        """Return the position where a step is matched, or infinity; its predecessors are evaluated first."""
        if g not in matched:
            matched[g] = inf  # steps in a cycle are not matched
            after = max(map(place_of, needs[g]), default=-1)
            firsts = (first_after(places.get(call.name, ()), after) for call in steps[g].calls)
            matched[g] = max(firsts, default=inf)
        return matched[g]

    return sum(place_of(g) < inf for g in range(len(steps))) / len(steps)


def first_after(places: Iterable[int], after: float) -> float:
    return next((place for place in places if place > after), inf)
