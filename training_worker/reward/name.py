"""The name component: the share of calls whose tool occurs in the ground truth."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.trajectory import ExecutedCall, Step


def score_names(steps: Sequence[Step], calls: Sequence[ExecutedCall]) -> float:
    """Return M = |{c in C : name(c) in names(G)}| / N (paper, section 3, name); 0 without calls."""
    wanted = names(steps)
    return sum(made.call.name in wanted for made in calls) / len(calls) if calls else 0.0


def names(steps: Sequence[Step]) -> frozenset[str]:
    """Return the tools that the ground truth calls."""
    return frozenset(call.name for step in steps for call in step.calls)
