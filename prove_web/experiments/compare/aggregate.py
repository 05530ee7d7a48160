"""Curves of several runs as one: their mean at each step, and a band around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

KINDS = {"sd": "Standard deviation", "range": "Minimum to maximum", "ci": "95 % interval of the mean"}
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Curve:
    """Values by step, the steps rising."""

    steps: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True)
class Band:
    """Of several curves at each step of `steps`: the mean, the ends around it, and of how many curves these are.

    `low` and `high` are None where fewer than two curves reach a step.
    """

    steps: list[int]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    count: list[int]

    def mean_at(self, steps: Sequence[int]) -> list[float]:
        """The mean at other steps, as a straight line between its own."""
        found: list[float] = np.interp(steps, self.steps, self.mean).tolist()
        return found


def aligned(curves: Sequence[Curve]) -> tuple[list[int], np.ndarray]:
    """All steps of any of the curves, and a row per curve with its values there.

    Between two of its own steps a curve is a straight line; before its first and after its last it is nan.
    """
    steps = sorted({step for curve in curves for step in curve.steps})
    rows = [np.interp(steps, curve.steps, curve.values, left=np.nan, right=np.nan) for curve in curves if curve.steps]
    return steps, np.array(rows).reshape(len(rows), len(steps))


def band(curves: Sequence[Curve], kind: str = "sd") -> Band:
    """The mean of the curves that reach a step; the band is one of KINDS, of a sample of them."""
    steps, rows = aligned(curves)
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
    """Where the band begins and ends at each step; what it says of a single curve is not used."""
    if kind == "range":
        return np.where(there, rows, np.inf).min(axis=0), np.where(there, rows, -np.inf).max(axis=0)
    freedom = np.maximum(count - 1, 1)
    spread = np.sqrt((np.where(there, rows - mean, 0.0) ** 2).sum(axis=0) / freedom)
    if kind == "ci":
        from scipy.stats import t  # half a second that only these bands pay

        spread = spread / np.sqrt(count) * t.ppf((1 + CONFIDENCE) / 2, freedom)
    return mean - spread, mean + spread
