"""Penalties of the trace_state form for calls beyond the ground truth's number and for unparseable calls."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.trajectory import ExecutedCall

PRICE, MOST = 0.05, 0.5


def surplus(n_gt: int, calls: Sequence[ExecutedCall]) -> float:
    """Return min(0.05 max(n - n_gt, 0), 0.5) (EnvFactory); n counts the parseable calls."""
    read = sum(made.call.arguments is not None for made in calls)
    return min(PRICE * max(read - n_gt, 0), MOST)


def unparseable(calls: Sequence[ExecutedCall]) -> float:
    """Return min(0.05 unparseable, 0.5) (EnvFactory)."""
    return min(PRICE * sum(made.call.arguments is None for made in calls), MOST)
