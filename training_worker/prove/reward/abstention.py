"""Abstention: where nothing should be called, calling nothing is all that counts."""

from __future__ import annotations

from collections.abc import Sequence

from ..trajectory import ExecutedCall, Step


def abstains(steps: Sequence[Step]) -> bool:
    """Whether the ground truth holds no call at all."""
    return not any(step.calls for step in steps)


def abstention(calls: Sequence[ExecutedCall]) -> float:
    """R = 1 if C is empty, else 0, for an empty ground truth (paper, section 3, abstention)."""
    return 0.0 if calls else 1.0
