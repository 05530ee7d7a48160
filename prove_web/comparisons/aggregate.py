"""Aggregation of several runs' curves into a mean per step with a band around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

KINDS = {"sd": "Standard deviation", "range": "Minimum to maximum", "ci": "95 % interval of the mean"}
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Curve:
    """Values by step, in ascending step order."""

    steps: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True)
class Band:
    """Mean, lower and upper end and number of curves at each step of `steps`.

    `low` and `high` are None where fewer than two curves reach a step.
    """

    steps: list[int]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    count: list[int]

    def mean_at(self, steps: Sequence[int]) -> list[float]:
        """Return the mean at other steps by linear interpolation."""
        found: list[float] = np.interp(steps, self.steps, self.mean).tolist()
        return found


def align_curves(curves: Sequence[Curve]) -> tuple[list[int], np.ndarray]:
    """Return the union of all steps, and one row per curve with its values at these steps.

    Values between a curve's own steps are interpolated linearly; before its first and after its last step they are NaN.
    """
    steps = sorted({step for curve in curves for step in curve.steps})
    rows = [np.interp(steps, curve.steps, curve.values, left=np.nan, right=np.nan) for curve in curves if curve.steps]
    return steps, np.array(rows).reshape(len(rows), len(steps))


def band(curves: Sequence[Curve], kind: str = "sd") -> Band:
    """Return the mean of the curves that reach each step, with a sample-based band of the given kind (one of KINDS)."""
    steps, rows = align_curves(curves)
    if not steps:
        return Band([], [], [], [], [])
    there = ~np.isnan(rows)
    count = there.sum(axis=0)
    mean = np.where(there, rows, 0.0).sum(axis=0) / count
    low, high = ends(rows, there, count, mean, kind)
    several = count > 1
    return Band(
        steps,
        mean.tolist(),
        [float(value) if more else None for value, more in zip(low, several, strict=True)],
        [float(value) if more else None for value, more in zip(high, several, strict=True)],
        count.tolist(),
    )


def ends(
    rows: np.ndarray, there: np.ndarray, count: np.ndarray, mean: np.ndarray, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper end of the band at each step; the caller ignores values of a single curve."""
    if kind == "range":
        return np.where(there, rows, np.inf).min(axis=0), np.where(there, rows, -np.inf).max(axis=0)
    freedom = np.maximum(count - 1, 1)
    spread = np.sqrt((np.where(there, rows - mean, 0.0) ** 2).sum(axis=0) / freedom)
    if kind == "ci":
        from scipy.stats import t  # the import takes 0.5 s

        spread = spread / np.sqrt(count) * t.ppf((1 + CONFIDENCE) / 2, freedom)
    return mean - spread, mean + spread
