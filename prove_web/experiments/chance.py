"""The rule for showing a difference as better or worse: its 95 % interval excludes 0.

A difference without an interval, or with too few values, is neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Literal

from training_worker.evaluation.intervals import Score

Tone = Literal["good", "bad", "even"]
LEAST = 5  # values per side below which an interval of means is meaningless


@dataclass(frozen=True)
class Difference:
    """A difference with its 95 % interval and the number of values per side, where known."""

    value: float
    low: float | None = None
    high: float | None = None
    count: int | None = None

    @property
    def verdict(self) -> str:
        return verdict(self.low, self.high, self.count)

    def tone(self, better: str = "more") -> Tone:
        return tone(self.low, self.high, better, self.count)


def verdict(low: float | None, high: float | None, count: int | None = None) -> str:
    """Return `better` or `worse` for an interval that excludes 0, else `no clear difference`."""
    return {"good": "better", "bad": "worse"}.get(tone(low, high, count=count), "no clear difference")


def tone(low: float | None, high: float | None, better: str = "more", count: int | None = None) -> Tone:
    """Return how a difference is coloured.

    `better` says whether more or less is better, or is empty where neither is; `count` is the number of values per
    side, where known.
    """
    if low is None or high is None or not better or low <= 0 <= high or (count is not None and count < LEAST):
        return "even"
    return "good" if (low > 0) == (better == "more") else "bad"


def of_means(first: Sequence[float], second: Sequence[float]) -> Difference | None:
    """Return the mean of the second minus that of the first, with Welch's interval (Welch 1947); None without values.

    Assumes independent values; omits the interval where a side has fewer than LEAST values.
    """
    if not first or not second:
        return None
    value, count = fmean(second) - fmean(first), min(len(first), len(second))
    if count < LEAST:
        return Difference(value, count=count)
    parts = [variance(side) / len(side) for side in (first, second)]
    error = math.sqrt(sum(parts))
    if not error:
        return Difference(value, value, value, count)
    from scipy.special import stdtrit  # the import takes 0.1 s

    sides = zip(parts, (len(first), len(second)), strict=True)
    freedom = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in sides)
    half = float(stdtrit(freedom, 0.975)) * error
    return Difference(value, value - half, value + half, count)


def of_scores(first: Score, second: Score, count: int | None = None) -> Difference:
    """Return the difference of two independent scores with its interval (MOVER, Zou and Donner 2008)."""
    value = second.accuracy - first.accuracy
    below = math.hypot(second.accuracy - second.low, first.high - first.accuracy)
    above = math.hypot(second.high - second.accuracy, first.accuracy - first.low)
    return Difference(value, value - below, value + above, count)
