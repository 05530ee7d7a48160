"""T-Eval's comparison of two plans: actions are paired by similarity, and pairs in the same order count."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

THRESHOLD = 0.8
TIE = 1e-9


def pair_by_similarity(similar: Sequence[Sequence[float]], threshold: float = THRESHOLD) -> dict[int, int]:
    """Return the column paired with each row: the pairs above `threshold` with the largest total similarity.

    This is a maximum weight matching of a bipartite graph. Among matchings of equal weight it is the one whose pairs
    are nearest in position (least squares), so that a plan pairs with itself in order.
    """
    import numpy as np  # these two take half a second, so only plans import them
    from scipy.optimize import linear_sum_assignment

    weights = np.array(similar, dtype=float).reshape(len(similar), -1)
    rows, columns = np.indices(weights.shape)
    crossing = TIE * ((rows - columns) / max(1, sum(weights.shape))) ** 2
    paired = linear_sum_assignment(np.where(weights > threshold, weights - crossing, 0.0), maximize=True)
    return {int(row): int(column) for row, column in zip(*paired, strict=True) if weights[row, column] > threshold}


def longest_increasing(numbers: Sequence[int]) -> int:
    """Return the length of the longest strictly increasing subsequence (Fredman 1975)."""
    tails: list[int] = []  # the smallest end of an increasing subsequence of each length
    for number in numbers:
        place = bisect_left(tails, number)
        tails[place : place + 1] = [number]
    return len(tails)
