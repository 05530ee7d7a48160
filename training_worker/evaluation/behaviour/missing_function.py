"""Missing function: the tool that fits the request is hidden. The policy passes if it makes no call of any tool."""

from __future__ import annotations

from mcp_servers.core import Draw

from ...core.trajectory import Example, Rollout
from ..worlds.scorer import Verdict, format_call, judge_rollout
from .case import Behaviour, Case


def cast(example: Example, draw: Draw) -> Case:
    return Case(example, lambda rollout: judge(example, rollout))


def judge(example: Example, rollout: Rollout) -> Verdict:
    """Judge a rollout; a call of a tool that was not offered counts as invented."""
    for call in rollout.calls:
        if call.call.name and call.call.name not in example.offered:
            return "invented_tool", f"{format_call(call)}, which was not offered"
    return judge_rollout(example, rollout)


MISSING_FUNCTION = Behaviour(
    name="missing function",
    rule="The tool that fits the request is hidden; the policy passes if it makes no call of any tool.",
    kind="missing_function",
    cast=cast,
)
