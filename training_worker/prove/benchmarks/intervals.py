"""Scores and their 95% intervals: what a share, a graded mean, and a mean of such means may be by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

Z = NormalDist().inv_cdf(0.975)
RESAMPLES = 2000


@dataclass(frozen=True)
class Score:
    """Accuracy from 0 to 1, and its 95% interval."""

    accuracy: float
    low: float
    high: float


def scored(values: Sequence[float]) -> Score | None:
    """The mean of what each task is worth (0 to 1), with a percentile bootstrap interval over tasks (Efron 1979).

    Where all are worth the same, resampling knows nothing: then the interval is Wilson's. None of nothing.
    """
    if not values:
        return None
    share = sum(values) / len(values)
    if max(values) - min(values) < 1e-12:
        return wilson(share, len(values))
    low, high = bootstrapped(values)
    return Score(share, min(share, low), max(share, high))


def bootstrapped(values: Sequence[float]) -> tuple[float, float]:
    """The same for the same values in any order."""
    import numpy as np  # these two take half a second that only a report pays
    from scipy.stats import bootstrap

    found = bootstrap(
        (sorted(values),), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    return float(found.low), float(found.high)


def wilson(share: float, run: int) -> Score | None:
    """A share of `run` tasks with Wilson's interval (Wilson 1927); None of nothing."""
    if not run:
        return None
    z2 = Z * Z
    middle = (share + z2 / (2 * run)) / (1 + z2 / run)
    half = Z * math.sqrt(share * (1 - share) / run + z2 / (4 * run * run)) / (1 + z2 / run)
    return Score(share, min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def mean(scores: Sequence[Score]) -> Score:
    """The unweighted mean; its interval from those of its parts, taken as independent (MOVER, Zou and Donner 2008)."""
    number = len(scores)
    share = sum(one.accuracy for one in scores) / number
    below = math.sqrt(sum((one.accuracy - one.low) ** 2 for one in scores)) / number
    above = math.sqrt(sum((one.high - one.accuracy) ** 2 for one in scores)) / number
    return Score(share, share - below, share + above)
