"""Distractors: tools of other servers stand among those of the task. Passes who does the ground truth without them."""

from __future__ import annotations

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit import Draw

from ...trajectory import Example, Rollout
from ..worlds.scorer import Verdict, format_call, judged
from .case import Behaviour, Case

FEWEST = 3  # the paper's least number of distractors


def cast(example: Example, draw: Draw) -> Case | None:
    if example.distractors < FEWEST:
        return None
    return Case(example, lambda rollout: judge(example, rollout))


def judge(example: Example, rollout: Rollout) -> Verdict:
    """A distractor is a tool that was offered, of a server that the ground truth does not call."""
    own = {TOOLS[call.name][0].name for step in example.steps for call in step.calls}
    for call in rollout.calls:
        if call.call.name in example.candidates and TOOLS[call.call.name][0].name not in own:
            return "used_distractor", format_call(call)
    return judged(example, rollout)


DISTRACTORS = Behaviour(
    name="distractors",
    rule="At least three tools of other servers are offered, too; passes who does the ground truth without any.",
    knobs={"distractors": 1.0, "distractor_count": (6, 12)},
    cast=cast,
    fewest_servers=2,
)
