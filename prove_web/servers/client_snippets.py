"""Configuration snippets for MCP clients of a session: Claude Desktop, the Inspector, Python, curl."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from mcp_servers.catalogue import SERVERS

from .models import LiveSession
from .wire_format import VERSION

PREFIX = "/mcp/s"  # where the site serves its sessions to clients
PLACE = "<token>"  # placeholder for a token that is no longer shown


@dataclass(frozen=True)
class Configuration:
    """Snippet for one client, and its requirements."""

    id: str
    title: str
    needs: str
    text: str


def configurations(session: LiveSession, address: str) -> list[Configuration]:
    """Return the snippets for a client that connects to this URL, which contains the token."""
    return [
        Configuration("python", "Python", "Requires the package mcp.", python(session, address)),
        Configuration(
            "desktop",
            "Claude Desktop",
            "Settings > Developer > Edit Config. Requires Node.js. Restart Claude Desktop afterwards.",
            desktop(session, address),
        ),
        Configuration("inspector", "MCP Inspector", "Requires Node.js 22 or newer.", inspector(address)),
        Configuration("curl", "curl", "One call over plain HTTP.", curl(session, address)),
    ]


def first_tool(session: LiveSession) -> str:
    """Return a reading tool that needs no arguments; else the first reading tool."""
    known = [tool for name in session.servers if name in SERVERS for tool in SERVERS[name].tools.values()]
    reading = [tool for tool in known if not tool.writes]
    return next((tool.name for tool in reading if not tool.required), reading[0].name if reading else "")


def python(session: LiveSession, address: str) -> str:
    return f"""\
import asyncio

from mcp import Client


async def main():
    async with Client({address!r}) as client:
        tools = await client.list_tools()
        print([tool.name for tool in tools.tools])
        result = await client.call_tool({first_tool(session)!r}, {{}})
        print(result.content[0].text)


asyncio.run(main())
"""


def desktop(session: LiveSession, address: str) -> str:
    command = {"command": "npx", "args": ["-y", "mcp-remote", address, "--transport", "http-only"]}
    return json.dumps({"mcpServers": {f"prove-session-{session.pk}": command}}, indent=2) + "\n"


def inspector(address: str) -> str:
    return f"npx @modelcontextprotocol/inspector --cli {shlex.quote(address)} --transport http --method tools/list\n"


def curl(session: LiveSession, address: str) -> str:
    tool, prefix = first_tool(session), "io.modelcontextprotocol/"
    meta = {
        f"{prefix}protocolVersion": VERSION,
        f"{prefix}clientInfo": {"name": "curl", "version": "1"},
        f"{prefix}clientCapabilities": {},
    }
    params = {"_meta": meta, "name": tool, "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    named = " \\\n  ".join(f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items())
    return f"curl -sS {shlex.quote(address)} \\\n  {named} \\\n  --data-raw {shlex.quote(json.dumps(body))}\n"
