"""Paths along the dependency edges of an example."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

LONG_PATH = 4  # reports count all paths of at least this many steps together


def longest_path(steps: int, edges: Iterable[tuple[int, int]]) -> int:
    """Return the number of steps on the longest path along edges that lead forward; 0 without steps."""
    before: defaultdict[int, list[int]] = defaultdict(list)
    for j, g in edges:
        if 0 <= j < g:
            before[g].append(j)
    lengths: list[int] = []
    for g in range(steps):
        lengths.append(1 + max((lengths[j] for j in before[g]), default=0))
    return max(lengths, default=0)
