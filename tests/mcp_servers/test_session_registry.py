"""No session that is gone is answered from a new world: neither after its end nor after a restart of the gateway."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_servers.mcp.adapter import SESSION
from mcp_servers.mcp.gateway_sessions import Key, SessionEndedError, Visitors
from mcp_servers.mcp.session_registry import DAY, LAPSE, SessionRegistry
from mcp_servers.mcp.signed_urls import Ticket
from mcp_servers.world import World
from tests.mcp_servers.visiting import SECRET, Running, accounts, move_money, refused, visit

KEY = Key("ticket", "alice", 8, "small")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gateway" / "sessions.sqlite3"


class Clocks:
    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


def visitors(file: Path | None = None, clock: Clocks | None = None, sessions: int = 2) -> Visitors:
    clock = clock or Clocks()
    return Visitors(sessions, 10.0, clock=clock, wall=clock, file=file)


def why(gone: Visitors, key: Key) -> str:
    with pytest.raises(SessionEndedError) as ended:
        gone.get(key)
    return ended.value.reason


def test_a_client_from_before_a_restart_gets_an_error_and_reads_no_other_world(file: Path) -> None:
    path = f"/mcp/{Ticket('alice', 8, 'small').sign_token(SECRET)}/banking"
    with Running(registry=file) as running:
        visit(f"{running.base}{path}", lambda client: move_money(client, None))
        visit(f"{running.base}/mcp/banking", move_money)
    with Running(registry=file) as running:
        said = refused(f"{running.base}{path}", lambda client: accounts(client, None))
        assert said.startswith("This session ended when the gateway was restarted, at 20")
        assert said.endswith(
            "Ask the person who gave you this address to restart the session, or to send another address."
        )
        assert "to another name" in refused(f"{running.base}/mcp/banking", accounts)
        rows = visit(f"{running.base}/mcp/banking", lambda client: accounts(client, {SESSION: "another"}))
        assert rows == json.loads(World.open(7, ("banking",), "small").call("list_accounts", {}).text)


def test_a_session_that_was_idle_for_too_long_or_too_many_is_over() -> None:
    clock, keys = Clocks(), [Key("name", str(number), 7, "small") for number in range(4)]
    ours = visitors(clock=clock)
    for key in keys[:3]:
        ours.serve(key)
    assert why(ours, keys[0]) == "crowded"
    clock.now += 11
    ours.serve(keys[3])
    assert why(ours, keys[1]) == why(ours, keys[2]) == "idle"


def test_a_session_that_nobody_called_in_is_as_new_and_is_opened_again(file: Path) -> None:
    visitors(file).get(KEY)
    assert visitors(file).serve(KEY).calls == 0


def test_a_session_is_let_in_again_once_it_is_started(file: Path) -> None:
    visitors(file).serve(KEY)
    ours = visitors(file)
    gone = ours.find(KEY.id)
    assert gone and gone.key == KEY and gone.reason == "restart"
    assert ours.start(gone).calls == 0 and ours.serve(KEY).key == KEY
    assert why(visitors(file), KEY) == "restart"


def test_a_session_that_was_stopped_stays_so_after_a_restart(file: Path) -> None:
    ours = visitors(file)
    ours.end(ours.serve(KEY))
    assert why(visitors(file), KEY) == "stopped"


def test_a_named_session_is_not_answered_by_a_gateway_with_another_seed(file: Path) -> None:
    visitors(file).serve(Key("name", "mine", 7, "small"))
    assert why(visitors(file), Key("name", "mine", 8, "small")) == "restart"
    assert visitors(file).serve(Key("ticket", "mine", 8, "small")), "an address that was signed for another world"


def test_ended_sessions_are_forgotten_when_they_are_too_many_or_after_a_month(file: Path) -> None:
    clock = Clocks()
    registry = SessionRegistry(file, clock, most=3)
    for number in range(5):
        registry.end(str(number), {"used": 0.0}, "idle")
        clock.now += 1
    assert [number for number in range(5) if registry.find(str(number))] == [2, 3, 4]
    registry.close()
    clock.now += LAPSE * DAY
    assert SessionRegistry(file, clock).find("4") is None


def test_the_file_is_this_users_alone_and_a_damaged_one_is_put_aside(file: Path, caplog: Any) -> None:
    visitors(file).serve(KEY)
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}
    for path in file.parent.iterdir():
        path.write_bytes(b"no database at all" * 100)
    assert visitors(file).serve(KEY)
    assert "sessions.damaged" in caplog.text and file.with_suffix(".damaged").exists()


class Full:
    """A registry's database on a disk without room."""

    def execute(self, statement: str, *given: Any) -> Iterator[Any]:
        if statement.startswith("SELECT"):
            return sqlite3.connect(":memory:").execute("SELECT 1 WHERE 0")
        raise sqlite3.OperationalError("database or disk is full")


def test_without_room_no_session_is_opened_that_could_not_be_known_again() -> None:
    with Running() as running:
        address = f"{running.base}/mcp/banking"
        visit(address, accounts)
        running.visitors.registry.database = Full()  # type: ignore[assignment]
        assert visit(address, accounts), "who is in goes on"
        said = refused(address, lambda client: accounts(client, {SESSION: "late"}))
        assert "cannot write its list of sessions (database or disk is full)" in said
