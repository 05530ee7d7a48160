"""A call as code and as MCP messages: request and response on the wire, a Python client, a curl command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from mcp_servers.catalogue import TOOLS

from .models import LiveSession, SessionCall

VERSION = "2026-07-28"
NAMES = "io.modelcontextprotocol/"
GATEWAY = "http://127.0.0.1:8765"
Calls = Sequence[SessionCall]


def name_of(session: LiveSession) -> str:
    """Return the name by which a gateway's client names its own copy of this session."""
    return f"studio-{session.pk}"


def request(call: SessionCall) -> dict[str, Any]:
    """Return the client's request."""
    meta = {
        "prove/session": name_of(call.session),
        f"{NAMES}protocolVersion": VERSION,
        f"{NAMES}clientInfo": {"name": "mcp", "version": "0.1.0"},
        f"{NAMES}clientCapabilities": {},
    }
    params = {"_meta": meta, "name": call.tool, "arguments": call.arguments}
    return {"jsonrpc": "2.0", "id": call.position, "method": "tools/call", "params": params}


def response(call: SessionCall) -> dict[str, Any]:
    """Return the server's response: the text for the model, and the same as data if the call succeeded."""
    result: dict[str, Any] = {
        "content": [{"text": call.text, "type": "text"}],
        "isError": not call.ok,
        "resultType": "complete",
    }
    if call.ok:
        result["structuredContent"] = {"result": json.loads(call.text)}
    if owner := TOOLS.get(call.tool):
        about = {"name": owner[0].name, "version": "", "description": owner[0].description}
        result["_meta"] = {f"{NAMES}serverInfo": about}
    return {"jsonrpc": "2.0", "id": call.position, "result": result}


def serve(session: LiveSession) -> str:
    """Return the command that serves the world of a session to MCP clients."""
    return f"python -m mcp_servers --http --seed {session.seed} --size {session.size}"


def python(call: SessionCall, before: Calls) -> str:
    """Return a program that makes the call through a gateway, after the writes that led to its world."""
    session, made = call.session, [*before, call]
    title = " ".join(str(session).split())
    lines = "\n".join(f"    {(owner(one), one.tool, one.arguments)!r}," for one in made)
    return f'''\
# {title}, call {call.position}. Requires `pip install mcp` and a gateway with seed {session.seed}:
# {serve(session)}
import asyncio
import os
import uuid

from mcp import Client

GATEWAY = os.environ.get("PROVE_GATEWAY", "{GATEWAY}")
SESSION = {{"prove/session": f"{name_of(session)}-{{uuid.uuid4()}}"}}  # own session, initial state
CALLS = [  # server, tool, arguments: {len(before)} earlier writes, then the call
{lines}
]


async def main():
    for server, tool, arguments in CALLS:
        async with Client(f"{{GATEWAY}}/mcp/{{server}}") as client:
            result = await client.call_tool(tool, arguments, meta=SESSION)
    print(result.content[0].text)


asyncio.run(main())
'''


def curl(call: SessionCall, before: Calls) -> str:
    """Return the same with curl: one command per call; the last one prints the call's response."""
    begin = f"# Requires a gateway with seed {call.session.seed}: {serve(call.session)}\n"
    begin += 'SESSION="' + name_of(call.session) + '-$(date +%s)-$$"\n'
    quiet = "".join(f"{one_curl(each)} -o /dev/null\n" for each in before)
    return f"{begin}{quiet}{one_curl(call)}\n"


def one_curl(call: SessionCall) -> str:
    said = request(call)
    said["params"]["_meta"]["prove/session"] = "@SESSION@"
    body = shlex.quote(json.dumps(said, ensure_ascii=False)).replace("@SESSION@", "'\"$SESSION\"'")
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": call.tool,
    }
    named = " ".join(f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items())
    address = f'"${{PROVE_GATEWAY:-{GATEWAY}}}"/mcp/{owner(call)}'
    return f"curl -sS {address} {named} --data-raw {body}"


def as_json(call: SessionCall) -> str:
    """Return the call as a JSON object, as in datasets."""
    return json.dumps({"name": call.tool, "arguments": call.arguments}, indent=2, ensure_ascii=False)


def owner(call: SessionCall) -> str:
    """Return the server of a tool; empty for a removed tool."""
    return TOOLS[call.tool][0].name if call.tool in TOOLS else ""


def writes_before(session: LiveSession, position: int) -> list[SessionCall]:
    """Return the calls before this one that may have changed the world, in order."""
    earlier = session.calls.filter(position__lt=position, ok=True)
    return [one for one in earlier if one.tool in TOOLS and TOOLS[one.tool][1].writes]
