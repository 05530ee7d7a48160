"""All servers over HTTP on a real socket: which world a request uses, and which requests are refused."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.faults import Faults
from mcp_servers.mcp.adapter import PAGE, SESSION
from mcp_servers.mcp.gateway import Options, serve
from mcp_servers.mcp.gateway_sessions import Key, Visitors
from mcp_servers.mcp.signed_urls import Ticket
from mcp_servers.world import World
from tests.mcp_servers.visiting import META, SECRET, Running, accounts, move_money, refused, visit
from tests.waiting import eventually


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    with Running() as running:
        yield running.base


def test_each_server_has_its_tools_and_all_together_have_them_under_its_name(gateway: str) -> None:
    async def names(client: Client) -> list[str]:
        found, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            assert len(page.tools) <= PAGE
            found += [tool.name for tool in page.tools]
            if not (cursor := page.next_cursor):
                return found

    assert visit(f"{gateway}/mcp/banking", names) == list(SERVERS["banking"].tools)
    everything = [f"{server.name}__{name}" for name, (server, _) in TOOLS.items()]
    assert visit(f"{gateway}/mcp", names) == everything and len(everything) > PAGE


def test_a_cursor_that_no_answer_gave_is_refused(gateway: str) -> None:
    for cursor in ("0", "-5", "x", "٣", "9999999", ""):
        said = refused(f"{gateway}/mcp", lambda client, cursor=cursor: client.list_tools(cursor=cursor))
        assert said.startswith("No answer to tools/list gave this cursor")


def test_a_named_session_is_one_world_on_all_addresses_and_another_name_another(gateway: str) -> None:
    async def all_at_once(client: Client) -> tuple[Any, Any]:
        moved = await client.call_tool("banking__list_accounts", {}, meta={SESSION: "one world"})
        mail = await client.call_tool("email__list_labels", {}, meta={SESSION: "one world"})
        return json.loads(moved.content[0].text), mail.is_error

    opening = json.loads(World.open(7, ("banking",), "small").call("list_accounts", {}).text)
    visit(f"{gateway}/mcp/banking", lambda client: move_money(client, {SESSION: "one world"}))
    rows, refused = visit(f"{gateway}/mcp", all_at_once)
    assert rows != opening and not refused
    assert visit(f"{gateway}/mcp/banking", lambda client: accounts(client, {SESSION: "another"})) == opening


def test_a_write_on_one_server_moves_the_clock_of_the_others(gateway: str) -> None:
    async def now(client: Client) -> str:
        result = await client.read_resource("prove://calendar/state", meta={SESSION: "clock"})
        return str(json.loads(result.contents[0].text)["now"])

    before = visit(f"{gateway}/mcp/calendar", now)
    visit(f"{gateway}/mcp/banking", lambda client: move_money(client, {SESSION: "clock"}))
    assert visit(f"{gateway}/mcp/calendar", now) > before


def test_a_call_that_names_no_session_gets_an_error_that_says_how_to_name_one(gateway: str) -> None:
    said = refused(f"{gateway}/mcp/banking", lambda client: accounts(client, None))
    assert "names no session" in said and "prove/session" in said and "--sign" in said


def test_a_client_of_the_year_before_has_a_session_of_its_own(gateway: str) -> None:
    async def both(client: Client) -> Any:
        before = await accounts(client, None)
        await move_money(client, None)
        return before, await accounts(client, None)

    first, changed = visit(f"{gateway}/mcp/banking", both, mode="legacy")
    again, _ = visit(f"{gateway}/mcp/banking", both, mode="legacy")
    assert first == again != changed


def test_a_signed_address_is_a_session_with_a_seed_of_its_own(gateway: str) -> None:
    token = Ticket("alice", 8, "small").sign_token(SECRET)
    rows = visit(f"{gateway}/mcp/{token}/banking", lambda client: accounts(client, None))
    assert rows == json.loads(World.open(8, ("banking",), "small").call("list_accounts", {}).text)
    result = visit(f"{gateway}/mcp/{token}", lambda client: client.call_tool("banking__list_accounts", {}))
    assert json.loads(result.content[0].text) == rows


@pytest.mark.parametrize(
    "token", ["a.b", "...", "x." * 3, Ticket("alice", 8, "small").sign_token(b"y" * 32), "%00.%ff", "e30.e30"]
)
def test_an_address_that_was_not_signed_here_is_nobodys(gateway: str, token: str) -> None:
    for path in (f"/mcp/{token}", f"/mcp/{token}/banking"):
        response = httpx2.post(f"{gateway}{path}", json={})
        assert response.status_code == 404 and "nor is this a signed address" in response.text


def test_an_unknown_server_is_answered_with_those_there_are(gateway: str) -> None:
    token = Ticket("alice", 8, "small").sign_token(SECRET)
    for path in ("/mcp/bank", "/mcp/bank/banking", f"/mcp/{token}/bank"):
        response = httpx2.post(f"{gateway}{path}", json={})
        assert response.status_code == 404 and "there are banking, " in response.json()["error"]


def test_another_site_in_the_users_browser_is_turned_away(gateway: str) -> None:
    """DNS rebinding: the request comes from this machine, for a name or an origin that is not ours."""
    post = {"json": {"jsonrpc": "2.0", "id": 1, "method": "ping"}}
    assert httpx2.post(f"{gateway}/mcp/banking", headers={"host": "evil.example"}, **post).status_code == 421
    assert httpx2.post(f"{gateway}/mcp/banking", headers={"origin": "http://evil.example"}, **post).status_code == 403


def test_a_body_that_is_too_large_is_not_read(gateway: str) -> None:
    assert httpx2.post(f"{gateway}/mcp/banking", json={"x": "x" * 1_100_000}).status_code == 413


def test_with_a_password_nobody_comes_in_without_it_or_a_signed_address() -> None:
    with Running(bearer="open sesame") as running:
        url, post = f"{running.base}/mcp/banking", {"json": {"jsonrpc": "2.0", "id": 1, "method": "ping"}}
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "open sesame"}):
            answer = httpx2.post(url, headers=headers, **post)
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        assert httpx2.post(url, headers={"authorization": "Bearer open sesame"}, **post).status_code != 401
        signed = f"{running.base}/mcp/{Ticket('alice', 8, 'small').sign_token(SECRET)}/banking"
        assert visit(signed, lambda client: accounts(client, None))


def test_faults_on_purpose_reach_the_client() -> None:
    async def unavailable(client: Client) -> tuple[bool, str]:
        result = await client.call_tool("list_accounts", {}, meta=META)
        return result.is_error, json.loads(result.content[0].text)["error"]

    with Running(faults=Faults(unavailable=100)) as running:
        assert visit(f"{running.base}/mcp/banking", unavailable) == (True, "unavailable")


def test_it_does_not_serve_strangers_without_a_password() -> None:
    with pytest.raises(ValueError, match=r"0\.0\.0\.0 can be reached by others: set a bearer token"):
        serve(Options(host="0.0.0.0"))


def test_policy_and_state_can_be_read_and_no_secret_with_them(gateway: str) -> None:
    async def read(client: Client) -> tuple[list[str], Any, Any]:
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        overview = await client.read_resource("prove://banking/state", meta=META)
        cards = await client.read_resource("prove://banking/state/cards", meta=META)
        return listed, json.loads(overview.contents[0].text), json.loads(cards.contents[0].text)

    listed, overview, cards = visit(f"{gateway}/mcp/banking", read)
    assert listed == ["prove://banking/policy", "prove://banking/state"]
    assert overview["tables"]["cards"] == len(cards["rows"]) == 3 and cards["more"] == 0
    assert all(row["id"].startswith("CRD-") and "pin" not in row for row in cards["rows"])


@pytest.mark.parametrize(
    "uri", ["prove://banking/nothing", "prove://nobody/state", "file:///etc/passwd", "prove://banking/state/x"]
)
def test_a_resource_that_is_not_there_is_said_to_be_so(gateway: str, uri: str) -> None:
    said = refused(f"{gateway}/mcp/banking", lambda client: client.read_resource(uri, meta=META))
    assert said.startswith("There is no resource")


@pytest.mark.parametrize("name", SERVERS)
def test_every_server_suggests_a_task_of_the_callers_world(gateway: str, name: str) -> None:
    async def task(client: Client) -> str:
        (prompt,) = (await client.list_prompts()).prompts
        return str((await client.get_prompt(prompt.name, meta=META)).messages[0].content.text)

    text = visit(f"{gateway}/mcp/{name}", task)
    assert text.startswith("Please ") and "{" not in text and "what" not in text


def test_who_is_idle_for_too_long_and_who_is_too_many_goes() -> None:
    now = [0.0]
    visitors = Visitors(sessions=3, idle=10.0, clock=lambda: now[0])
    first, *others = (Key("name", name, 7, "small") for name in ("first", "0", "1", "2"))
    opened = visitors.get(first)
    now[0] = 9.0
    assert visitors.get(first) is opened
    now[0] = 20.0
    assert visitors.get(first) is not opened and len(visitors.seen) == 1
    remaining = [visitors.get(key) for key in others]
    assert len(visitors.seen) == 3 and visitors.get(others[0]) is remaining[0]


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_client_that_hangs_up_in_the_middle_of_its_request_is_one_line_in_the_log(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    headers = f"Host: localhost\r\nMCP-Protocol-Version: {version}\r\nContent-Type: application/json\r\n"
    headers += "Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n"
    with Running() as running, socket.create_connection(("127.0.0.1", running.port)) as client:
        client.sendall(f"POST /mcp/banking HTTP/1.1\r\n{headers}\r\n{{".encode())
        eventually(lambda: running.server.server_state.tasks, "the request")
        client.close()
        eventually(lambda: not running.server.server_state.tasks, "its end")
    records = [record for record in caplog.records if record.levelno > logging.INFO or "hung up" in record.message]
    assert [record.getMessage() for record in records] == ["A client hung up in the middle of its request."]
