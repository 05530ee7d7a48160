"""Worlds in which two entities have changed places: there the same words lead to another one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pytest

from mcp_servers.catalogue import TOOLS
from mcp_servers.world import World
from tests.prove.known import known_examples
from training_worker.core.trajectory import Example, Json
from training_worker.dataflow.resolver import ObservedLeaf, Origin, resolve
from training_worker.datasets.shortcuts import replace_leaves
from training_worker.graph.result_schema import rows_in
from training_worker.graph.sampler import widest
from training_worker.synthesis.exchange import PARTS, exchange, find_another
from training_worker.synthesis.plan import ObservedEntity, PlannedCall, changed_values
from training_worker.synthesis.referents import OPAQUE
from training_worker.synthesis.tool_results import ToolResult


@pytest.fixture(scope="module")
def chains() -> list[Example]:
    return [one for one in known_examples(60) if one.kind == "chain"]


def run(example: Example) -> dict[tuple[int, int], PlannedCall]:
    """Run the ground truth; return its calls by step and number."""
    world = World.open(example.world.seed, example.world.servers, example.world.size)
    calls = {}
    for at, step in enumerate(example.steps):
        for nth, call in enumerate(step.calls):
            before, arguments = world.fork(), dict(call.arguments or {})
            answer = ToolResult(call.name, world.call(call.name, arguments).text)
            calls[at, nth] = PlannedCall(call.name, arguments, answer, step.turn, frozenset(), before, world.fork())
    return calls


def result_of(call: PlannedCall) -> Json:
    return json.loads(call.text)


def found_ids(example: Example, calls: dict[tuple[int, int], PlannedCall]) -> Iterator[tuple[Origin, PlannedCall]]:
    """Yield the ids that a read shows which is not about them, each with that call."""
    for origin in resolve(example):
        if isinstance(origin.where, ObservedLeaf) and origin.compared is None and OPAQUE.fullmatch(str(origin.value)):
            call = calls[origin.where.step, origin.where.call]
            if not call.writes and origin.value not in call.arguments.values():
                yield origin, call


def leads_to(example: Example, origin: Origin, texts: Sequence[str], id: str) -> bool:
    """Return whether the user's words lead from what a look-up shows to an entity, as the resolver reads them."""
    assert isinstance(origin.where, ObservedLeaf)
    steps = list(example.steps)
    source, used = steps[origin.where.step], steps[origin.step]
    observations = list(source.observations)
    observations[origin.where.call] = texts[0]
    calls = list(used.calls)
    place = (origin.step, origin.call, origin.parameter, origin.path)
    calls[origin.call] = replace_leaves(calls[origin.call], origin.step, origin.call, {place: id})
    steps[origin.step] = replace(used, calls=tuple(calls))
    steps[origin.where.step] = replace(steps[origin.where.step], observations=tuple(observations))
    found = resolve(replace(example, steps=tuple(steps)))
    return any((one.step, one.call, one.parameter, one.path, one.value) == (*place, id) for one in found)


def test_in_another_world_the_words_lead_to_another_entity(chains: list[Example]) -> None:
    ids = 0
    for example in chains:
        for origin, call in found_ids(example, run(example)):
            kind = TOOLS[example.steps[origin.step].calls[origin.call].name][1].ids.get(origin.parameter, "")
            rows = tuple(row.fields for row in rows_in(call.tool, result_of(call)) if row.type == kind)
            seen = ObservedEntity(kind, str(origin.value), 0, None, rows)
            assert find_another([call], seen, partial(leads_to, example, origin)), (example.id, origin)
            ids += 1
    assert ids > 50


@pytest.mark.parametrize("parts", PARTS)
def test_an_exchange_changes_no_world_but_its_own_and_twice_it_changes_nothing(parts: str) -> None:
    world = World.open(3, ("banking",), "small")
    one, other = [row.id for row in world.sessions["banking"].state.accounts][:2]
    before = world.digest()
    changed = exchange(world, "banking", (one, other), parts)
    assert world.digest() == before != changed.digest()
    assert exchange(changed, "banking", (one, other), parts).digest() == before


def test_words_that_point_at_a_place_in_a_list_lead_to_no_other_entity() -> None:
    world = World.open(3, ("banking",), "small")
    call = PlannedCall("list_accounts", {}, ToolResult("list_accounts", ""), 0, frozenset(), world, world)
    rows = world.fork().call("list_accounts", {}).data
    first = ObservedEntity("AccountId", rows[0]["id"], 0, rows[0], tuple(rows))
    assert not find_another(
        [call], first, lambda texts, id: texts[0].startswith(f'[{{"id":"{rows[0]["id"]}"') and id == rows[0]["id"]
    )


def test_no_user_turn_asks_for_something_and_for_taking_it_back(chains: list[Example]) -> None:
    for example in chains:
        taken: dict[tuple[int, tuple[str, str, str], str], tuple[str, ...]] = {}
        for (at, nth), call in run(example).items():
            turn, values = example.steps[at].turn, list(changed_values(call)) if call.writes else []
            for place, _, new in values:
                said = (call.tool, *map(str, call.arguments.values()))
                assert taken.get((turn, place, new), said) == said, (example.id, at, nth, place)
            taken |= {(turn, place, old): (call.tool, *map(str, call.arguments.values())) for place, old, _ in values}


def test_in_the_full_list_the_words_still_name_the_entity(chains: list[Example]) -> None:
    """A superlative of the first page may not be one of all."""
    wider = 0
    for example in chains:
        for origin, call in found_ids(example, run(example)):
            most = widest(TOOLS[call.tool][1])
            full = call.before.fork().call(call.tool, call.arguments | ({"limit": most} if most else {}))
            assert leads_to(example, origin, [full.text], str(origin.value)), (example.id, origin)
            wider += full.text != call.text
    assert wider > 3
