"""The gateway's control plane on a real socket file: what it lists, resets, ends and starts, and who may use it."""

from __future__ import annotations

import json
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from mcp_servers.mcp.adapter import SESSION
from mcp_servers.mcp.gateway_sessions import Key, SessionEndedError, Visitors
from tests.mcp_servers.visiting import Running, accounts, move_money, refused, visit

MINE = {"do": "open", "name": "mine", "seed": 8, "size": "small", "owner": "project 1"}


class Controlled(Running):
    """A gateway with a control plane."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="pv")  # short: a socket's path has a limit
        self.control = Path(self.folder.name) / "gateway" / "gateway.sock"
        super().__init__(control=self.control)

    def __exit__(self, *rest: object) -> None:
        super().__exit__(*rest)
        self.folder.cleanup()

    def said(self, line: bytes) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.control))
            client.sendall(line + b"\n")
            client.settimeout(10)
            with client.makefile("rb") as answers:
                return dict(json.loads(answers.readline() or b"{}"))

    def ask(self, **question: Any) -> dict[str, Any]:
        return self.said(json.dumps(question).encode())

    def sessions(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: one for one in self.ask(do="list")["sessions"]}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Controlled]:
    with Controlled() as running:
        yield running


async def three_calls(client: Client) -> None:
    await move_money(client, None)
    await accounts(client, None)


def test_only_its_user_can_open_the_socket_and_it_goes_with_the_gateway() -> None:
    with Controlled() as running:
        assert stat.S_IMODE(running.control.stat().st_mode) == 0o600
        assert stat.S_IMODE(running.control.parent.stat().st_mode) == 0o700
    assert not running.control.exists()


def test_a_session_is_listed_with_its_world_its_client_and_its_calls(gateway: Controlled) -> None:
    opened = gateway.ask(**MINE)["session"]
    assert opened["servers"] == [] and opened["calls"] == 0
    visit(f"{gateway.base}{opened['path']}/banking", three_calls)
    info = gateway.sessions()["mine"]
    assert (info["seed"], info["size"], info["owner"], info["kind"]) == (8, "small", "project 1", "ticket")
    assert info["servers"] == ["banking"] and info["calls"] == 3 and info["client"]
    assert info["opened"] <= info["used"] and info["ended"] is None
    assert gateway.ask(do="list")["port"] == gateway.port


def test_a_client_of_the_year_before_is_listed_by_the_name_it_gave_when_it_connected(gateway: Controlled) -> None:
    visit(f"{gateway.base}/mcp/banking", three_calls, mode="legacy")
    assert next(one["client"] for one in gateway.sessions().values() if one["kind"] == "legacy")


def test_reset_gives_the_world_as_it_was_at_first(gateway: Controlled) -> None:
    opened = gateway.ask(**{**MINE, "name": "reset"})["session"]
    address = f"{gateway.base}{opened['path']}/banking"
    before = visit(address, lambda client: accounts(client, None))
    visit(address, three_calls)
    assert gateway.ask(do="reset", session=opened["id"])["session"]["calls"] == 0
    assert visit(address, lambda client: accounts(client, None)) == before


def test_a_session_that_was_ended_tells_its_client_what_to_do_until_it_is_started(gateway: Controlled) -> None:
    opened = gateway.ask(**{**MINE, "name": "ended"})["session"]
    address = f"{gateway.base}{opened['path']}/banking"
    visit(address, three_calls)
    assert gateway.ask(do="end", session=opened["id"])["session"]["ended"]
    said = refused(address, lambda client: accounts(client, None))
    assert said.startswith("This session was ended at 20") and "Ask the person who gave you this address" in said
    assert gateway.sessions()["ended"]["calls"] == 3, "what it did is told still"
    assert gateway.sessions()["ended"]["ended"] and "was ended" in gateway.ask(**{**MINE, "name": "ended"})["error"]
    gateway.ask(do="start", session=opened["id"])
    visit(address, three_calls)
    assert gateway.sessions()["ended"]["calls"] == 3


def test_a_client_of_a_session_that_was_ended_has_to_name_another(gateway: Controlled) -> None:
    address, meta = f"{gateway.base}/mcp/banking", {SESSION: "named"}
    visit(address, lambda client: accounts(client, meta))
    gateway.ask(do="end", session=gateway.sessions()["named"]["id"])
    assert "to another name" in refused(address, lambda client: accounts(client, meta))
    assert visit(address, lambda client: accounts(client, {SESSION: "another"}))


@pytest.mark.parametrize(
    "line",
    [b"{}", b"[]", b'{"do": "fork"}', b'{"do": "end", "session": 5}', b'{"do": "end", "session": "0123456789abcdef"}'],
)
def test_what_makes_no_sense_is_answered_with_an_error(gateway: Controlled, line: bytes) -> None:
    assert gateway.said(line)["error"]


@pytest.mark.parametrize("line", [b"", b"nonsense", b"[" * 60_000, b"x" * 100_000])
def test_what_is_no_json_or_too_long_is_not_answered_and_harms_nobody(gateway: Controlled, line: bytes) -> None:
    with suppress(OSError):  # it hung up before all of the line was sent
        assert gateway.said(line) == {}
    assert gateway.ask(do="list")["sessions"] is not None


def test_no_address_of_an_agent_leads_to_the_control_plane(gateway: Controlled) -> None:
    opened = gateway.ask(**{**MINE, "name": "untouched"})["session"]
    for path in ("/mcp", "/mcp/banking", "/control", "/", f"{opened['path']}"):
        httpx2.post(f"{gateway.base}{path}", json={"do": "end", "session": opened["id"]})
    assert gateway.sessions()["untouched"]["ended"] is None


def test_a_stopped_session_takes_no_place_among_those_that_are_open() -> None:
    visitors = Visitors(sessions=2, idle=10.0)
    for number in range(3):
        key = Key("name", str(number), 7, "small")
        visitors.end(visitors.get(key))
        with pytest.raises(SessionEndedError):
            visitors.get(key)
    assert len(visitors.all()) == 3 and not visitors.seen
