"""Injected faults: they are seeded and listed, and never make a change to the world that no call requested."""

from __future__ import annotations

import json

import pytest

from mcp_servers.catalogue import SERVERS
from mcp_servers.faults import KINDS, Faults
from mcp_servers.world import World

SERVER = ("banking",)


def opened(faults: Faults | None) -> World:
    return World.open(7, SERVER, "small", faults)


def pair(world: World) -> dict[str, object]:
    """Arguments of a transfer that goes through."""
    rows = [
        row for row in SERVERS["banking"].open(7, "small").call("list_accounts", {}).data if row["status"] == "open"
    ]
    source, target = next((a, b) for a in rows for b in rows if a["id"] != b["id"] and a["currency"] == b["currency"])
    return {"source": source["id"], "target": target["id"], "amount": 5}


@pytest.mark.parametrize("kind", ["unavailable", "rate_limited"])
def test_a_service_that_is_away_or_busy_says_so_and_changes_nothing(kind: str) -> None:
    world = opened(Faults(**{kind: 100}))
    before = world.digest()
    reply = world.call("transfer_money", pair(world))
    assert not reply.ok and reply.data["error"] == kind and world.digest() == before
    assert [tuple(one) for one in world.injected] == [(1, "transfer_money", kind, 0)]
    assert world.sessions["banking"].head.number == 1, "the call is in the session's history"


def test_a_call_made_again_is_drawn_again_and_in_the_end_goes_through() -> None:
    world = opened(Faults(unavailable=60, seed=3))
    replies = [world.call("transfer_money", {**pair(world), "amount": amount}).ok for amount in range(1, 60)]
    assert 10 < replies.count(True) < 40
    tried = 0
    while not (reply := world.call("list_cards", {})).ok:
        assert reply.data["error"] == "unavailable"
        tried += 1
    assert tried < 30


def test_a_stale_read_knows_nothing_of_the_last_write() -> None:
    plain, stale = opened(None), opened(Faults(stale=100))
    before = plain.call("list_accounts", {})
    assert stale.call("list_accounts", {}) == before, "nothing was written yet"
    assert stale.call("transfer_money", pair(stale)) == plain.call("transfer_money", pair(plain))
    assert stale.digest() == plain.digest()
    assert stale.call("list_accounts", {}) == before != plain.call("list_accounts", {})
    assert [one.kind for one in stale.injected] == ["stale"] and stale.digest() == plain.digest()


def test_a_slow_call_does_what_it_would_have_done() -> None:
    plain, slow = opened(None), opened(Faults(slow=100, delay=700))
    assert slow.call("transfer_money", pair(slow)) == plain.call("transfer_money", pair(plain))
    assert slow.digest() == plain.digest() and [one.delay for one in slow.injected] == [700]


def test_the_same_seed_is_the_same_faults_whatever_else_was_called() -> None:
    faults = Faults(unavailable=20, rate_limited=20, stale=20, slow=20, seed=5)
    tools = ["list_accounts", "list_cards", "find_payees", "list_scheduled_payments"]

    def met(order: list[str]) -> dict[str, str]:
        world = opened(faults)
        world.call("transfer_money", pair(world))
        for tool in order:
            world.call(tool, {})
        return {one.tool: one.kind for one in world.injected}

    assert met(tools) == met(tools[::-1]) == met(tools) != {}
    assert met(tools) != {} and Faults(seed=6) != faults


def test_a_fork_goes_on_with_the_same_faults() -> None:
    world = opened(Faults(unavailable=50, seed=2))
    world.call("list_accounts", {})
    fork = world.fork()
    assert [fork.call("list_accounts", {}) for _ in range(20)] == [world.call("list_accounts", {}) for _ in range(20)]
    assert fork.injected == world.injected


def test_without_faults_and_with_none_a_world_is_as_ever() -> None:
    plain, none = opened(None), opened(Faults())
    for world in (plain, none):
        world.call("transfer_money", pair(world))
        world.call("list_accounts", "not json")
    assert plain.digest() == none.digest() and none.injected == ()


def test_each_kind_is_as_frequent_as_configured() -> None:
    faults = Faults(unavailable=10, rate_limited=5, stale=20, slow=15)
    met = [faults.draw_fault("list_accounts", json.dumps({"limit": number}), 1) for number in range(4000)]
    for kind in KINDS:
        assert abs(met.count(kind) / 40 - faults.share(kind)) < 2, kind


def test_faults_are_written_as_names_and_numbers() -> None:
    assert Faults.parse("unavailable=5,slow=10,delay=800,seed=3") == Faults(3, 5, 0, 0, 10, 800)
    assert Faults.parse("") == Faults()


@pytest.mark.parametrize("text", ["x=1", "slow", "slow=", "slow=1.5", "slow=-1", "slow=60,stale=60", "delay=99999999"])
def test_what_are_no_faults_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no fault: write name=number|percentages, 100 in all"):
        Faults.parse(text)
