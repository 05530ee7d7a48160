"""Agreement coefficients: the share of equal answers, and beyond chance those of Cohen, Krippendorff and Gwet.

All but kappa take counts of shape (units, categories): how many people gave each answer about each unit; units with
fewer than two answers are ignored. Kappa takes a table of shape (categories, categories): how often one person gave the
answer of the row and the other that of the column. An estimate is None if it is undefined.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from training_worker.evaluation.intervals import wilson

Level = Literal["nominal", "ordinal"]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

RESAMPLES = 1000
SEED = 0
ENDS = (2.5, 97.5)  # percentiles of a 95% interval
EQUAL = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A coefficient, at most 1, and its 95% interval if there is one."""

    value: float
    low: float | None = None
    high: float | None = None


def pairable(counts: Counts) -> Counts:
    """Return the units that at least two people answered."""
    return counts[counts.sum(axis=1) >= 2]


def has_variation(counts: Counts) -> bool:
    """Return whether at least two different answers occur among the units that two people or more answered."""
    return bool(np.count_nonzero(pairable(counts).sum(axis=0)) > 1)


def shares(counts: Counts) -> Floats:
    """Return for each unit the share of equal pairs of its answers (Gwet 2014, p_a|i)."""
    answers = counts.sum(axis=1)
    return (counts * (counts - 1)).sum(axis=1) / (answers * (answers - 1))


def percent(counts: Counts) -> Estimate | None:
    """Return the mean over units of the share of equal pairs.

    The interval is by bootstrap over units, or Wilson's if all shares are the same (see evaluation/intervals.py).
    """
    counts = pairable(counts)
    if not len(counts):
        return None
    each = shares(counts)
    value = float(each.mean())
    if each.max() - each.min() < EQUAL:
        known = wilson(value, len(counts))
        return Estimate(value, known.low, known.high)
    patterns, weights = draw_resamples(counts)
    return Estimate(value, *compute_percentile_interval(weights @ shares(patterns) / len(counts)))


def alpha(counts: Counts, level: Level = "nominal") -> Estimate | None:
    """Return Krippendorff's alpha by the package `krippendorff` (Krippendorff 2011), with a bootstrap over units.

    The bootstrap gives the interval. Alpha is undefined if all answers are the same.
    """
    from krippendorff import alpha as krippendorffs

    counts = pairable(counts)
    if not has_variation(counts):
        return None
    value = float(krippendorffs(value_counts=counts, level_of_measurement=level))
    if (shares(counts) == 1).all():
        return Estimate(value)  # no disagreement was seen, so resampling shows none
    patterns, weights = draw_resamples(counts)
    return Estimate(
        value,
        *compute_percentile_interval(alphas(weights @ flatten_tables(coincidences(patterns)), counts.shape[1], level)),
    )


def coincidences(counts: Counts) -> Floats:
    """Return the answer pairs of each unit, each weighted 1 / (answers - 1): (units, categories, categories)."""
    own = counts[:, :, None] * np.eye(counts.shape[1])
    found: Floats = (counts[:, :, None] * counts[:, None, :] - own) / (counts.sum(axis=1) - 1)[:, None, None]
    return found


def flatten_tables(tables: Floats) -> Floats:
    return tables.reshape(len(tables), -1)


def alphas(observed: Floats, size: int, level: Level) -> Floats:
    """Return alpha of each flattened coincidence table; NaN if it is undefined."""
    tables = observed.reshape(-1, size, size)
    margins = tables.sum(axis=1)
    total = margins.sum(axis=1)[:, None, None]
    expected = (margins[:, :, None] * margins[:, None, :] - margins[:, :, None] * np.eye(size)) / (total - 1)
    apart = distances(margins, level)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = 1 - (tables * apart).sum(axis=(1, 2)) / (expected * apart).sum(axis=(1, 2))
    return found


def distances(margins: Floats, level: Level) -> Floats:
    """Return the squared difference of any two answers, for each row of margins (Krippendorff 2011, delta²)."""
    size = margins.shape[1]
    if level == "nominal":
        return np.broadcast_to(1 - np.eye(size), (len(margins), size, size))
    up_to = np.cumsum(margins, axis=1)
    middle = up_to - margins / 2  # of each rank: what lies below it, and half of itself
    found: Floats = (middle[:, :, None] - middle[:, None, :]) ** 2
    return found


def ac1(counts: Counts) -> Estimate | None:
    """Return Gwet's AC1 with the variance over units of Gwet 2008 (any number of people, some answers missing).

    The interval is Student's. Units with a single answer count only towards the prevalence of answers.
    """
    from scipy.stats import t

    counts = counts[counts.sum(axis=1) > 0]
    twice = counts.sum(axis=1) >= 2
    if not twice.any():
        return None
    common = counts / counts.sum(axis=1)[:, None]
    prevalence, size = common.mean(axis=0), counts.shape[1]
    chance = float((prevalence * (1 - prevalence)).sum()) / (size - 1)
    observed = float(shares(counts[twice]).mean())
    value = (observed - chance) / (1 - chance)
    units = len(counts)
    if units < 2 or observed > 1 - EQUAL:
        return Estimate(value)
    own = np.zeros(units)
    own[twice] = (shares(counts[twice]) - chance) / (1 - chance) * units / twice.sum()
    drift = (common * (1 - prevalence)).sum(axis=1) / (size - 1) - chance
    parts = own - 2 * (1 - value) * drift / (1 - chance)
    error = math.sqrt(float(((parts - value) ** 2).sum()) / (units * (units - 1)))
    half = float(t.ppf(0.975, units - 1)) * error
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half))


def kappa(table: Counts, level: Level = "nominal") -> Estimate | None:
    """Return Cohen's kappa by scikit-learn, for ratings with quadratic weights (Cohen 1968); its interval by bootstrap.

    It is undefined if both people always gave the same answer.
    """
    from sklearn.metrics import cohen_kappa_score

    size = len(table)
    if not table.sum() or np.count_nonzero(table.sum(axis=0) + table.sum(axis=1)) < 2:
        return None
    rows, columns = np.nonzero(table)
    times = table[rows, columns]
    one, other = np.repeat(rows, times), np.repeat(columns, times)
    weights = "quadratic" if level == "ordinal" else None
    value = float(cohen_kappa_score(one, other, labels=np.arange(size), weights=weights))
    if not table[~np.eye(size, dtype=bool)].sum():
        return Estimate(value)
    drawn = np.random.default_rng(SEED).multinomial(times.sum(), times / times.sum(), RESAMPLES)
    tables = np.zeros((RESAMPLES, size, size))
    tables[:, rows, columns] = drawn
    return Estimate(value, *compute_percentile_interval(kappas(tables, level)))


def kappas(tables: Floats, level: Level) -> Floats:
    """Return kappa of each table; NaN if it is undefined."""
    size = tables.shape[1]
    place = np.arange(size)
    apart = (place[:, None] - place[None, :]) ** 2 if level == "ordinal" else 1 - np.eye(size)
    expected = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :] / tables.sum(axis=(1, 2))[:, None, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = 1 - (tables * apart).sum(axis=(1, 2)) / (expected * apart).sum(axis=(1, 2))
    return found


def draw_resamples(counts: Counts) -> tuple[Counts, Counts]:
    """Return the distinct rows, and how often each is drawn in every resample of all units, in any order."""
    patterns, times = np.unique(counts, axis=0, return_counts=True)
    weights = np.random.default_rng(SEED).multinomial(len(counts), times / len(counts), RESAMPLES)
    return patterns, weights


def compute_percentile_interval(values: Floats) -> tuple[Any, Any]:
    """Return the middle 95% of the defined values."""
    known = values[~np.isnan(values)]
    low, high = np.percentile(known, ENDS) if len(known) else (None, None)
    return (None, None) if low is None else (float(low), float(high))


def interpret_coefficient(value: float) -> str:
    """Return the usual word for a coefficient (Landis and Koch 1977)."""
    for least, word in ((0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair")):
        if value > least:
            return word
    return "slight" if value >= 0 else "poor"
