"""Scores with 95% confidence intervals: of a share, of a graded mean, and of a mean of such means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

Z = NormalDist().inv_cdf(0.975)
RESAMPLES = 2000


@dataclass(frozen=True)
class Score:
    """An accuracy from 0 to 1 and its 95% interval."""

    accuracy: float
    low: float
    high: float


def estimate_score(values: Sequence[float]) -> Score | None:
    """Return the mean of the tasks' values (0 to 1) with a percentile bootstrap interval over tasks (Efron 1979).

    Where all values are equal, resampling tells nothing and the interval is Wilson's. None for no values.
    """
    if not values:
        return None
    share = sum(values) / len(values)
    if max(values) - min(values) < 1e-12:
        return wilson(share, len(values))
    low, high = bootstrap_interval(values)
    return Score(share, min(share, low), max(share, high))


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the bootstrap interval of a mean; independent of the order of the values."""
    import numpy as np  # these two take half a second, so only a report imports them
    from scipy.stats import bootstrap

    found = bootstrap(
        (sorted(values),), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    return float(found.low), float(found.high)


def wilson(share: float, run: int) -> Score | None:
    """Return a share of `run` tasks with Wilson's interval (Wilson 1927); None for no tasks."""
    if not run:
        return None
    z2 = Z * Z
    middle = (share + z2 / (2 * run)) / (1 + z2 / run)
    half = Z * math.sqrt(share * (1 - share) / run + z2 / (4 * run * run)) / (1 + z2 / run)
    return Score(share, min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def mean(scores: Sequence[Score]) -> Score:
    """Return the unweighted mean; its interval combines those of its independent parts (MOVER, Zou and Donner 2008)."""
    number = len(scores)
    share = sum(one.accuracy for one in scores) / number
    below = math.sqrt(sum((one.accuracy - one.low) ** 2 for one in scores)) / number
    above = math.sqrt(sum((one.high - one.accuracy) ** 2 for one in scores)) / number
    return Score(share, share - below, share + above)
