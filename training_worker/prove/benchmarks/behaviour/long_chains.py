"""Long chains: six or seven calls, each fed by others; training shows five at most. Passes who does all of them."""

from __future__ import annotations

from mcp_servers.kit import Draw

from ...trajectory import Example, Rollout
from ..worlds.judging import Verdict, judged
from .case import Behaviour, Case


def cast(example: Example, draw: Draw) -> Case:
    return Case(example, lambda rollout: judge(example, rollout))


def judge(example: Example, rollout: Rollout) -> Verdict:
    """Who makes fewer calls than there are steps, and ends by itself, gave up."""
    failure, why = judged(example, rollout)
    if failure == "missed_step" and rollout.end == "answered" and len(rollout.calls) < len(example.steps):
        return "gave_up", f"{len(rollout.calls)} calls for {len(example.steps)} steps; {why}"
    return failure, why


LONG_CHAINS = Behaviour(
    name="long chains",
    rule="Six or seven steps are due, and training shows five at most; passes who does all of the ground truth.",
    lengths=(6, 7),
    cast=cast,
)
