"""Calls made to prove an edge of the graph, taken down so that they can be made again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mcp_servers.kit import Session
from mcp_servers.kit.session import Step
from mcp_servers.world import World

WORLD_SEEDS = range(900_000_000, 900_000_006)
"""Worlds to prove edges in: no conversation is made in them."""


@dataclass(frozen=True)
class Run:
    """One call made to prove an edge, and what came of it."""

    arguments: dict[str, Any]
    ok: bool
    text: str

    @classmethod
    def of(cls, step: Step[Any]) -> Run:
        """A step of a session; not the opening."""
        assert step.reply is not None
        return cls(json.loads(step.arguments), step.reply.ok, step.reply.text)


def run_of(session: Session[Any] | World, name: str, arguments: str | dict[str, Any]) -> Run:
    """Make a call and take it down."""
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    reply = session.call(name, given)
    return Run(given, reply.ok, reply.text)
