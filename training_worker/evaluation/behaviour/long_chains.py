"""Long chains: at least seven dependent steps; training shows six at most. The policy passes if it completes them."""

from __future__ import annotations

from mcp_servers.core import Draw

from ...core.trajectory import Example, Rollout
from ..worlds.scorer import Verdict, judge_rollout
from .case import Behaviour, Case

FEWEST = 7  # steps


def cast(example: Example, draw: Draw) -> Case | None:
    if len(example.steps) < FEWEST:
        return None
    return Case(example, lambda rollout: judge(example, rollout))


def judge(example: Example, rollout: Rollout) -> Verdict:
    """Judge a rollout; one that ends by itself with fewer calls than are due gave up."""
    due = sum(len(step.calls) for step in example.steps)
    failure, why = judge_rollout(example, rollout)
    if failure == "missed_step" and rollout.end == "answered" and len(rollout.calls) < due:
        return "gave_up", f"{len(rollout.calls)} of {due} calls; {why}"
    return failure, why


LONG_CHAINS = Behaviour(
    name="long chains",
    rule="At least seven steps are due, and training shows six at most; the policy passes if it completes them all.",
    knobs={"wishes": {5: 0.5, 6: 0.5}, "steps": 9},
    cast=cast,
)
