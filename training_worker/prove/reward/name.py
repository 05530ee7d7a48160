"""Name: the share of calls that go to a tool the ground truth uses."""

from __future__ import annotations

from collections.abc import Sequence

from ..trajectory import ExecutedCall, Step


def name(steps: Sequence[Step], calls: Sequence[ExecutedCall]) -> float:
    """M = |{c in C : name(c) in names(G)}| / N (paper, section 3, name); 0 without calls."""
    wanted = names(steps)
    return sum(made.call.name in wanted for made in calls) / len(calls) if calls else 0.0


def names(steps: Sequence[Step]) -> frozenset[str]:
    """The tools the ground truth calls."""
    return frozenset(call.name for step in steps for call in step.calls)
