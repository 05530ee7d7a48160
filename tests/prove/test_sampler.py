"""Sampling: it only reads a world, and the arguments of every call fit the tool."""

from __future__ import annotations

import json
from itertools import product

import pytest

from mcp_servers.core import Draw
from mcp_servers.world import World
from tests.prove.known import SERVERS, TOOLS
from training_worker.graph.sampler import Context, NothingFits, fill, pick, sample

SEEDS = (3, 41, 1_000_000_007)


@pytest.fixture(scope="module", params=SEEDS)
def sampled(request: pytest.FixtureRequest) -> tuple[World, Context]:
    world = World.open(request.param, tuple(SERVERS), "small")
    return world, sample(world, Draw("sample", request.param))


def test_looking_changes_nothing_and_calls_only_tools_that_look() -> None:
    for seed in SEEDS:
        world = World.open(seed, tuple(SERVERS), "small")
        before, now = world.digest(), world.now
        sample(world, Draw("look", seed))
        called = [step.tool for session in world.sessions.values() for step in session.history()]
        assert (world.digest(), world.now) == (before, now)
        assert called and not any(TOOLS[name][1].writes for name in called if name)


def test_looking_finds_every_kind_of_id_that_a_tool_needs(sampled: tuple[World, Context]) -> None:
    _, context = sampled
    needed = {id_type for _, tool in TOOLS.values() for id_type in tool.consumes}
    assert needed <= set(context.ids)


def test_every_known_value_comes_from_a_reply_of_a_tool() -> None:
    world = World.open(5, tuple(SERVERS), "small")
    context = sample(world, Draw("shown", 5))
    replies = "".join(
        step.reply.text for session in world.sessions.values() for step in session.history() if step.reply is not None
    )
    assert all(id in replies for found in context.ids.values() for id in found)
    assert all(json.dumps(value, ensure_ascii=False) in replies for one in context.values.values() for value in one)


def test_filled_arguments_fit_the_tool(sampled: tuple[World, Context]) -> None:
    """No argument has a wrong type, is missing or is out of bounds; the state may still refuse the call."""
    world, context = sampled
    for _, tool in TOOLS.values():
        for time, optional in product(range(5), ((), tuple(tool.input_schema["properties"]))):
            draw = Draw("fit", tool.name, time)
            try:
                arguments = fill(tool, {}, context, draw, world, set(optional) - tool.sensitive)
            except NothingFits:
                continue
            assert set(tool.required) <= set(arguments) <= set(tool.input_schema["properties"])
            reply = world.fork().call(tool.name, arguments)
            assert reply.ok or reply.data["error"] != "invalid_arguments", (arguments, reply.text)


def test_given_arguments_stay_and_no_id_is_used_twice(sampled: tuple[World, Context]) -> None:
    world, context = sampled
    for _, tool in TOOLS.values():
        draw = Draw("given", tool.name)
        arguments = fill(tool, {}, context, draw, world)
        for name in tool.required:
            assert fill(tool, {name: arguments[name]}, context, draw, world)[name] == arguments[name], tool.name
        ids = [(tool.ids[name], str(value)) for name, value in arguments.items() if name in tool.ids]
        assert len(set(ids)) == len(ids), tool.name


def test_a_pin_is_the_one_the_user_knows_of_that_very_card(sampled: tuple[World, Context]) -> None:
    world, context = sampled
    arguments = fill(TOOLS["change_card_pin"][1], {}, context, Draw("pin"), world)
    assert arguments["pin"] == world.known_by_heart()[arguments["card"], "pin"]


def test_a_world_that_shows_nothing_can_serve_no_tool_that_needs_an_id() -> None:
    world = World.open(1, tuple(SERVERS), "small")
    for tool in (tool for _, tool in TOOLS.values() if tool.consumes):
        with pytest.raises(NothingFits):
            fill(tool, {}, Context(), Draw("nothing"), world)


def test_choosing_among_nothing_says_what_for() -> None:
    with pytest.raises(NothingFits, match="nothing for card"):
        pick([], Draw("none"), "card")


def test_an_id_keeps_its_first_label() -> None:
    context = Context()
    tell = TOOLS["list_accounts"][1]
    world = World.open(9, ("banking",), "small")
    reply = world.call(tell.name, {})
    context.learn(tell.name, reply.data)
    labels = {id: found.label for id, found in context.ids["AccountId"].items()}
    assert all(labels.values())
    context.learn("list_transactions", world.call("list_transactions", {"account": next(iter(labels))}).data)
    assert {id: context.ids["AccountId"][id].label for id in labels} == labels
