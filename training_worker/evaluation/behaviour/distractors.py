"""Distractors: tools of other servers are also offered. The policy passes if it completes the task without them."""

from __future__ import annotations

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw

from ...core.trajectory import Example, Rollout
from ..worlds.scorer import Verdict, format_call, judge_rollout
from .case import Behaviour, Case

FEWEST = 3  # the paper's minimum number of distractors


def cast(example: Example, draw: Draw) -> Case | None:
    if example.distractors < FEWEST:
        return None
    return Case(example, lambda rollout: judge(example, rollout))


def judge(example: Example, rollout: Rollout) -> Verdict:
    """Fail a rollout that calls a distractor: an offered tool of a server that the ground truth does not call."""
    own = {TOOLS[call.name][0].name for step in example.steps for call in step.calls}
    for call in rollout.calls:
        if call.call.name in example.candidates and TOOLS[call.call.name][0].name not in own:
            return "used_distractor", format_call(call)
    return judge_rollout(example, rollout)


DISTRACTORS = Behaviour(
    name="distractors",
    rule="Tools of other servers are offered, three or more; the policy passes if it uses none and completes the task.",
    knobs={"distractors": 1.0, "distractor_count": (6, 12)},
    cast=cast,
    fewest_servers=2,
)
