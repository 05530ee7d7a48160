"""Sessions with a bounded history: what they keep, what they answer, and that the gateway's stay small."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from mcp_servers.catalogue import SERVERS
from mcp_servers.core import Session
from mcp_servers.core.random_walk import Walker
from mcp_servers.faults import Faults
from mcp_servers.mcp import gateway_sessions
from mcp_servers.mcp.gateway_sessions import Key, Visitor
from mcp_servers.world import World

BANKING = ("banking",)


def transfers(world: World) -> list[dict[str, object]]:
    """Arguments of a transfer there and one back."""
    rows = [row for row in world.fork().call("list_accounts", {}).data if row["status"] == "open"]
    one, two = next((a, b) for a in rows for b in rows if a["id"] != b["id"] and a["currency"] == b["currency"])
    return [{"source": a["id"], "target": b["id"], "amount": 5} for a, b in ((one, two), (two, one))]


def test_a_read_leaves_no_step_behind_once_another_call_follows() -> None:
    session = SERVERS["banking"].open(7, "small", history_limit=3)
    for _ in range(50):
        session.call("list_accounts", {})
    assert [step.number for step in session.history()] == [0, 50]


def test_the_last_changes_are_stored_with_the_states_between_them() -> None:
    world, every = (World.open(7, BANKING, "small", history_limit=history) for history in (2, None))
    for number in range(10):
        for each in (world, every):
            assert each.call("transfer_money", transfers(world)[number % 2]).ok
    bounded, complete = (each.sessions["banking"] for each in (world, every))
    assert [step.number for step in bounded.history()] == [8, 9, 10] and len(complete.history()) == 11
    assert bounded.diff(8, 10) == complete.diff(8, 10)
    bounded.reset(9)
    assert bounded.digest() == complete.get_step(9).state.digest()
    with pytest.raises(IndexError, match=r"keeps step 8 to 9 alone, not 0"):
        bounded.reset()


@pytest.mark.parametrize("server", ["banking", "email", "shopping"])
def test_a_bounded_session_answers_every_call_like_a_complete_one(server: str) -> None:
    bounded, complete = SERVERS[server].open(3, "small", history_limit=1), SERVERS[server].open(3, "small")
    walker = Walker(complete.server.tools, [complete.state], "bounded", server)
    for _ in range(150):
        step = walker.walk(complete)
        assert bounded.call(step.tool, step.arguments) == step.reply
    assert bounded.digest() == complete.digest() and len(bounded.history()) <= 3


def test_a_late_answer_on_purpose_is_the_same_with_a_bounded_history() -> None:
    bounded, complete = (World.open(7, BANKING, "small", Faults(stale=60), history) for history in (1, None))
    for number in range(30):
        for name, given in (("transfer_money", transfers(complete)[number % 2]), ("list_accounts", {})):
            assert bounded.call(name, given) == complete.call(name, given)
    assert bounded.injected == complete.injected != ()


@pytest.mark.long
@pytest.mark.parametrize("faults", [None, pytest.param(Faults(unavailable=50, stale=20), marks=pytest.mark.long)])
def test_a_gateway_session_stays_small_however_much_is_read(
    faults: Faults | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("ERROR", gateway_sessions.log.name)  # pytest keeps what is logged
    visitor = Visitor(Key("name", "mine", 7, "small"), faults)
    tracemalloc.start()
    read(visitor, 200)
    before = traced()
    read(visitor, 800)
    after = traced()
    tracemalloc.stop()
    assert after - before < 50_000, "twenty bytes a call at most"


def traced() -> int:
    """Bytes that are in use."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def read(visitor: Visitor, times: int) -> None:
    for number in range(times):
        visitor.call("list_accounts", {})
        visitor.call("get_account", {"account": "ACC-0000"})
        visitor.call("list_cards", {"account": f"ACC-{number % 100:04}"})


def test_a_gateway_session_keeps_one_earlier_state_however_much_is_written() -> None:
    visitor = Visitor(Key("name", "mine", 7, "small"))
    for given in transfers(visitor.ensure_world("banking")) * 20:
        assert visitor.call("transfer_money", given).ok
    session: Session = visitor.ensure_world("banking").sessions["banking"]
    assert len(session.history()) == 2


def test_a_session_whose_world_was_changed_too_often_says_so_and_still_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_sessions, "MOST_CHANGES", 2)
    visitor = Visitor(Key("name", "mine", 7, "small"))
    given = transfers(visitor.ensure_world("banking"))
    replies = [visitor.call("transfer_money", given[number % 2]) for number in range(3)]
    assert [reply.ok for reply in replies] == [True, True, False] and replies[2].data["error"] == "session_full"
    assert visitor.call("list_accounts", {}).ok
