"""The abstention reward for examples in which no call is required."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.trajectory import ExecutedCall, Step


def abstains(steps: Sequence[Step]) -> bool:
    """Return whether the ground truth has no calls."""
    return not any(step.calls for step in steps)


def abstention(calls: Sequence[ExecutedCall]) -> float:
    """Return R = 1 if C is empty, else 0, for an empty ground truth (paper, section 3, abstention)."""
    return 0.0 if calls else 1.0
