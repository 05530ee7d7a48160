"""Missing function: the tool that does what is asked is hidden. Passes who makes no call, of that or another tool."""

from __future__ import annotations

from mcp_servers.kit import Draw

from ...trajectory import Example, Rollout
from ..worlds.scorer import Verdict, format_call, judged
from .case import Behaviour, Case


def cast(example: Example, draw: Draw) -> Case:
    return Case(example, lambda rollout: judge(example, rollout))


def judge(example: Example, rollout: Rollout) -> Verdict:
    """A call of a tool that was not offered is an invented one."""
    for call in rollout.calls:
        if call.call.name and call.call.name not in example.offered:
            return "invented_tool", f"{format_call(call)}, which was not offered"
    return judged(example, rollout)


MISSING_FUNCTION = Behaviour(
    name="missing function",
    rule="The tool that does what is asked is hidden; passes who makes no call, of that or another tool.",
    kind="missing_function",
    cast=cast,
)
