"""Calls in the tests of a server: one that has to work, and one that has to be refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mcp_servers.kit import Session


def do(session: Session[Any], tool: str, now: datetime | None = None, **arguments: Any) -> Any:
    """The result of a call that works and leaves every invariant whole; `now` sets a later clock first."""
    reply = session.call(tool, arguments, now=now)
    assert reply.ok, reply.text
    assert session.server.broken(session.state) == []
    return reply.data


def refused(session: Session[Any], tool: str, now: datetime | None = None, **arguments: Any) -> str:
    """The code of a refusal, which must leave everything as it was."""
    before, reply = session.digest(), session.call(tool, arguments, now=now)
    assert not reply.ok, reply.text
    assert session.digest() == before
    return str(reply.data["error"])
