"""A world: several servers on one clock."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core import Reply
from mcp_servers.core.random_walk import Call, Walker
from mcp_servers.world import World, replay

ALL = tuple(SERVERS)


def wander(world: World, steps: int) -> tuple[list[Call], list[Reply]]:
    """Walk over all servers of a world; the calls and the replies."""
    states = [session.state for session in world.sessions.values()]
    walker, calls, replies = Walker(world.tools(), states, "world", world.seed), [], []
    for _ in range(steps):
        calls.append(walker.draw_call())
        replies.append(world.call(*calls[-1]))
        walker.now = world.now
        if replies[-1].ok:
            walker.learn(calls[-1][0], replies[-1].text)
    return calls, replies


@pytest.mark.parametrize("seed", [0, 1, 2, 1_000_000_000])
def test_a_replay_gives_the_same_replies_and_digest(seed):
    world = World.open(seed, ALL, "small")
    calls, replies = wander(world, 60 * len(ALL))
    assert replay(seed, ALL, "small", calls) == (replies, world.digest())
    assert replay(seed, ALL[::-1], "small", calls) == (replies, world.digest())


def test_reads_and_refusals_never_change_the_digest_of_a_world_and_writes_move_its_clock():
    world = World.open(4, ALL, "small")
    calls, _ = wander(world.fork(), 120)
    wrote = 0
    for name, arguments in calls:
        digest, now = world.digest(), world.now
        reply = world.call(name, arguments)
        if reply.ok and TOOLS[name][1].writes:
            wrote += 1
            assert world.now > now and world.digest() != digest
        else:
            assert (world.digest(), world.now) == (digest, now)
    assert wrote > 5


def test_what_happens_on_one_server_makes_it_later_on_all():
    world = World.open(4, ALL, "small")
    calls, replies = wander(world, 60 * len(ALL))
    wrote = [name for (name, _), reply in zip(calls, replies, strict=True) if reply.ok and TOOLS[name][1].writes]
    assert {TOOLS[name][0].name for name in wrote} == set(ALL)
    minutes = (world.now - World.open(4, ALL, "small").now).total_seconds() / 60
    assert minutes == len(wrote)


def test_the_time_is_part_of_a_world():
    early, late = World.open(4, ALL, "small"), World.open(4, ALL, "small")
    late.now += timedelta(minutes=1)
    assert early.digest() != late.digest()


def test_a_world_of_one_server_is_a_session():
    for name, server in SERVERS.items():
        world, session = World.open(6, (name,), "small"), server.open(6, "small")
        calls, replies = wander(world, 60)
        assert [session.call(*call) for call in calls] == replies
        assert world.sessions[name].digest() == session.digest()
        assert world.now == session.state.now


def test_a_fork_and_its_origin_know_nothing_of_each_other():
    world = World.open(8, ALL, "small")
    wander(world, 20)
    fork, digest = world.fork(), world.digest()
    assert fork.digest() == digest
    wander(fork, 60)
    assert world.digest() == digest != fork.digest()
    assert replay(8, ALL, "small", ())[1] == World.open(8, ALL, "small").digest() != digest


@pytest.mark.long
def test_a_server_is_opened_after_any_others_were_hashed():
    for seed, name in enumerate(("maps", "vehicle", "food_delivery"), 700):  # large ones share all places of a town
        World.open(
            seed, tuple(other for other in ("maps", "vehicle", "food_delivery") if other != name), "large"
        ).digest()
        assert World.open(seed, (name,), "large").digest()


@pytest.mark.parametrize("name", ["no_such_tool", "", "💥", "x" * 10**6, "\ud800"])
def test_an_unknown_tool_is_refused(name):
    world = World.open(1, ALL, "small")
    digest = world.digest()
    reply = world.call(name, {})
    assert not reply.ok and reply.data["error"] == "unknown_tool" and len(reply.text) < 2_000
    assert world.digest() == digest


def test_the_tool_of_a_server_that_is_not_in_the_world_is_unknown():
    world = World.open(1, ("banking",), "small")
    name = next(iter(SERVERS["email"].tools))
    assert world.call(name, {}).data == {"error": "unknown_tool", "message": f"This world has no tool '{name}'."}
    assert list(world.tools()) == list(SERVERS["banking"].tools)


def test_a_world_needs_a_server_there_is():
    with pytest.raises(KeyError, match="no such server"):
        World.open(1, ("banking", "no such server"))
    with pytest.raises(ValueError, match="at least one server"):
        World.open(1, ())
