"""Slips of an assistant: another tool called in place of the correct one."""

from __future__ import annotations

from typing import Any

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Tool

from .plan import PlannedCall


def taken_over(call: PlannedCall, tool: Tool) -> dict[str, Any] | None:
    """Return a call's arguments for another tool, with ids matched by type; None when that tool needs more."""
    own = TOOLS[call.tool][1].ids
    arguments = {}
    for name in tool.required:
        wanted = tool.ids.get(name)
        same = [of for of in call.arguments if (own.get(of) == wanted if wanted else of == name and of not in own)]
        if not same:
            return None
        arguments[name] = call.arguments[same[0]]
    return arguments
