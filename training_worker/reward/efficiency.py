"""The efficiency component: the penalty for calls beyond the budget."""

from __future__ import annotations

from math import ceil


def efficiency(n_calls: int, n_gt: int, alpha: float, beta: float) -> float:
    """Return F = -alpha max(0, n_calls - B) / B (paper, section 3, efficiency).

    `n_calls` counts the model's calls, `n_gt` the ground truth's (at least 1).
    """
    limit = budget(n_gt, beta)
    return -alpha * (n_calls - limit) / limit if n_calls > limit else 0.0


def budget(n_gt: int, beta: float) -> int:
    """Return B = n_gt + ceil(n_gt beta); three parallel calls count as three."""
    rounding = 1e-9  # 25 * 0.28 is slightly above 7 in floats and must not be rounded up to 8
    return n_gt + ceil(n_gt * beta - rounding)
