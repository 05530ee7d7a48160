"""Starting a server of others for a moment: its tools listed, one of them called; closed again at once.

Nothing is started unless the operator of the machine allows it (PROVE_EXTERNAL_SERVERS), here as on the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import Any

from django.conf import settings

from .models import ThirdParty

START_SECONDS, CALL_SECONDS, MEGABYTES = 10.0, 10.0, 1_000
AT_ONCE = 2
turns = BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Tried:
    """What came of it: tools, and the answer of the one that was called; or why nothing did, with its last words."""

    tools: tuple[Tool, ...] = ()
    called: str = ""
    ok: bool = False
    text: str = ""
    error: str = ""


def allowed(server: ThirdParty) -> bool:
    return ("command" if server.command else "url") in settings.EXTERNAL_SERVERS


def attempt(server: ThirdParty, tool: str = "", arguments: str = "{}") -> Tried:
    """Start it, list its tools, call one if named, close it."""
    if not allowed(server):
        return Tried(error="The operator of this site does not allow this server (PROVE_EXTERNAL_SERVERS).")
    if not turns.acquire(blocking=False):
        return Tried(error="Other servers are being tested. Try again in a few seconds.")
    try:
        return talked(server, tool, arguments)
    finally:
        turns.release()


def talked(server: ThirdParty, tool: str, arguments: str) -> Tried:
    from mcp_servers.external import External  # loads the MCP library, which pages without others' servers spare
    from mcp_servers.kit import ServerFailed

    limits = {"start_seconds": START_SECONDS, "call_seconds": CALL_SECONDS}
    external = External(server.name, tuple(server.command), server.url, megabytes=MEGABYTES, **limits)
    tools: tuple[Tool, ...] = ()
    try:
        with external.open() as session:
            tools = tuple(Tool(one.name, one.description or "", one.input_schema) for one in session.tools.values())
            if not tool:
                return Tried(tools)
            reply = session.call(tool, arguments)
            return Tried(tools, tool, reply.ok, reply.text)
    except ServerFailed as error:
        return Tried(tools, tool, error=str(error))
