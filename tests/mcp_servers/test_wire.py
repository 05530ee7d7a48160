"""Over MCP a caller reads byte for byte what a direct call says."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from record import record

from mcp_servers.catalogue import SERVERS
from mcp_servers.core import Reply
from mcp_servers.mcp.adapter import MOST_SESSIONS, SESSION, Sessions, wire

ROOT = Path(__file__).parents[2]
STEPS = 30


def over_stdio() -> StdioServerParameters:
    arguments = ["-m", "mcp_servers", "banking", "--seed", "7", "--size", "small"]
    return StdioServerParameters(command=sys.executable, args=arguments, cwd=str(ROOT))


def target(name: str) -> object:
    """The banking server in a process of its own, the others in this one."""
    return over_stdio() if name == "banking" else wire(SERVERS[name], 7, "small")


async def call(client: Client, name: str, arguments: object, session: str) -> Reply:
    """What the wire says, with structured content checked against nothing yet."""
    result = await client.call_tool(name, arguments, meta={SESSION: session})
    (content,) = result.content
    if not result.is_error:
        assert result.structured_content == {"result": json.loads(content.text)}
    return Reply(not result.is_error, content.text)


@pytest.mark.parametrize("name", SERVERS)
def test_the_tools_on_the_wire_are_those_of_the_catalogue(name):
    async def listed() -> list:
        async with Client(wire(SERVERS[name], 7, "small")) as client:
            return (await client.list_tools()).tools

    tools = asyncio.run(listed())
    assert [tool.name for tool in tools] == list(SERVERS[name].tools)
    for advertised, tool in zip(tools, SERVERS[name].tools.values(), strict=True):
        assert (advertised.description, advertised.input_schema) == (tool.description, tool.input_schema)
        assert advertised.annotations.read_only_hint is not tool.writes
        assert advertised.annotations.destructive_hint is tool.destructive
        assert advertised.annotations.open_world_hint is False


@pytest.mark.parametrize("name", SERVERS)
def test_the_wire_says_what_a_direct_call_says_in_sessions_that_do_not_meet(name):
    walks = {key: record(SERVERS[name], 7, "small", 60, key) for key in ("", "other")}
    calls = {key: [(name, json.loads(text)) for name, text in walked.calls] for key, walked in walks.items()}

    async def collect() -> dict[str, list[Reply]]:
        replies: dict[str, list[Reply]] = {key: [] for key in walks}
        async with Client(target(name)) as client:
            for number in range(STEPS):
                for key in walks:
                    replies[key].append(await call(client, *calls[key][number], f"session {key}"))
        return replies

    replies = asyncio.run(collect())
    for key, walked in walks.items():
        assert replies[key] == walked.replies[:STEPS]
        assert {reply.ok for reply in replies[key]} == {True, False}


@pytest.mark.parametrize("name", SERVERS)
def test_what_is_malformed_is_an_error_with_the_same_text(name):
    server = SERVERS[name]
    tool = next(iter(server.tools))
    cases = [
        (tool, {"extra": 1}),
        (tool, {"extra": "x" * 20_000}),
        (tool, {"extra": [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}),
        (tool, {"extra": 10**30}),
        ("no_such_tool", {}),
        ("no_such_tool", None),
    ]

    async def collect() -> list[Reply]:
        async with Client(wire(SERVERS[name], 7, "small")) as client:
            return [await call(client, *case, "malformed") for case in cases]

    session = server.open(7, "small")
    assert asyncio.run(collect()) == [session.call(tool, arguments or {}) for tool, arguments in cases]
    assert session.head.number == len(cases)


def test_a_call_that_names_no_session_is_in_the_default_one():
    async def collect() -> list[str]:
        async with Client(wire(SERVERS["banking"], 7, "small")) as client:
            unnamed = await client.call_tool("list_accounts", {})
            named = await client.call_tool("list_accounts", {}, meta={SESSION: "default"})
        return [result.content[0].text for result in (unnamed, named)]

    assert asyncio.run(collect()) == [SERVERS["banking"].open(7, "small").call("list_accounts", {}).text] * 2


def test_when_there_are_too_many_sessions_the_one_unused_for_longest_goes():
    sessions = Sessions(SERVERS["banking"], 7, "small")
    first = sessions.get("first")
    sessions.get("second")
    for number in range(MOST_SESSIONS - 1):
        sessions.get("first")
        sessions.get(str(number))
    assert sessions.get("first") is first
    with pytest.raises(MCPError, match=r"was closed, because more than 1,000 others were used since\. Set"):
        sessions.get("second")
    assert len(sessions.open) == MOST_SESSIONS
