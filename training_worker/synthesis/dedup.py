"""Deduplication of conversations by Jaccard similarity of their calls above 0.70 (paper, section 2, step 5).

The sets compared hold calls with their grounded arguments. An exact prefix filter finds the pairs worth comparing: sets
with similarity above t must share one of their |s| - ceil(t |s|) + 1 rarest members.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from math import ceil

from ..core.trajectory import Example

THRESHOLD = 0.70


def signature(example: Example, names_only: bool = False) -> frozenset[str]:
    """Return the calls of an example as a set; for an abstention example, its user turns."""
    if example.abstains:
        return frozenset(example.turns)
    calls = [call for step in example.steps for call in step.calls]
    return frozenset(
        call.name if names_only else json.dumps([call.name, call.arguments], sort_keys=True) for call in calls
    )


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def distinct(examples: Iterable[Example], threshold: float = THRESHOLD, names_only: bool = False) -> Iterator[Example]:
    """Yield the examples in order, without those too similar to an earlier one that was kept."""
    known = list(examples)
    signatures = [signature(example, names_only) for example in known]
    counts = Counter(member for own in signatures for member in own)
    postings: dict[str, list[int]] = {}
    for position, own in enumerate(signatures):
        rare = sorted(own, key=lambda member: (counts[member], member))
        prefix = rare[: len(own) - ceil(threshold * len(own)) + 1]
        rivals = {rival for member in prefix for rival in postings.get(member, ())}
        if all(jaccard(own, signatures[rival]) <= threshold for rival in rivals):
            yield known[position]
            for member in prefix:
                postings.setdefault(member, []).append(position)
