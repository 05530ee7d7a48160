"""Shortcuts: scripted policies make real calls before they see an observation, and pass what needs no look-up."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import networkx as nx
import pytest

from mcp_servers.catalogue import fingerprint
from mcp_servers.world import World
from training_worker.core.trajectory import Example, ForeignTool, Json, Step, ToolCall, WorldRef
from training_worker.datasets.recipes import PLANS
from training_worker.datasets.shortcuts import (
    POLICIES,
    SHORTCUT_ROWS,
    Shortcuts,
    call_everything,
    call_nothing,
    copy_ids,
    draw_sample,
    fill_schema,
    find_part,
    is_passed,
    last_word,
    measure_shortcuts,
    open_loop,
    replay_twin,
    run_policy,
    substitute,
)
from training_worker.environment.episode import Limits
from training_worker.synthesis.conversation import make
from training_worker.synthesis.dependence import with_edges

SEED = 5  # a world in which every account is open
BANK = WorldRef(SEED, ("banking",), "small")
TOOLS = ("list_accounts", "transfer_money", "list_cards", "freeze_card", "unfreeze_card")
RICHEST = "Move 5 euros from the account with the highest balance to the account with the lowest balance."
LIST = ToolCall("list_accounts", {})


def list_accounts(seed: int = SEED) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = World.open(seed, BANK.servers, BANK.size).call("list_accounts", {}).data
    return found


def transfer(source: str, target: str, amount: int = 500) -> ToolCall:
    return ToolCall("transfer_money", {"source": source, "target": target, "amount": amount})


def find_card(cards: ToolCall) -> str:
    """Return the id of the first card that a look-up shows."""
    found = World.open(BANK.seed, BANK.servers, BANK.size).call(cards.name, cards.arguments or {}).data
    return str(found[0]["id"])


def record(said: str, *calls: ToolCall) -> Example:
    """Return a chain of one user turn whose calls are run in the world of the bank, one in each step."""
    world = World.open(BANK.seed, BANK.servers, BANK.size)
    steps, digests = [], [world.digest()]
    for call in calls:
        reply = world.call(call.name, call.arguments or {})
        assert reply.ok, reply.text
        steps.append(Step((call,), 0, (reply.text,)))
        digests.append(world.digest())
    return with_edges(
        Example(
            id=f"train-{said}",
            kind="chain",
            split="train",
            world=BANK,
            turns=(said,),
            steps=tuple(steps),
            edges=(),
            candidates=TOOLS,
            answers=("Done.",),
            digests=tuple(digests),
            fingerprint=fingerprint(BANK.servers),
        )
    )


@pytest.fixture(scope="module")
def spelled() -> Example:
    """Return a chain that needs no look-up: the user spells out both ids."""
    source, target = (one["id"] for one in list_accounts()[:2])
    return record(f"Move 5 euros from {source} to {target}.", transfer(source, target))


@pytest.fixture(scope="module")
def looked_up() -> Example:
    """Return a chain whose ids only a look-up shows."""
    by_balance = sorted(list_accounts(), key=lambda one: one["balance"])
    return record(RICHEST, LIST, transfer(by_balance[-1]["id"], by_balance[0]["id"]))


@pytest.fixture(scope="module")
def planned(graph: nx.DiGraph) -> list[Example]:
    """Return a few chains planned as wishes whose steps depend on each other."""
    recipe = replace(PLANS["tiny"].recipe, worlds=1)
    made = (make(index, "train", graph, recipe, "chain")[0] for index in range(4))
    return [one for one in made if one]


def passes(example: Example) -> set[str]:
    return {name for name, policy in POLICIES.items() if is_passed(example, run_policy(example, policy))}


def find_values(shortcuts: Shortcuts) -> dict[str, float]:
    return {row.name: row.value for row in shortcuts.rows}


def test_an_example_that_needs_no_look_up_is_passed_without_one(spelled: Example) -> None:
    assert passes(spelled) == {"copy_ids", "replay_twin", "open_loop"}


def test_an_example_that_needs_a_look_up_is_passed_by_no_policy(looked_up: Example) -> None:
    assert looked_up.fed == ((0, 1),)
    assert passes(looked_up) == set()


def test_what_a_policy_passes_is_counted(spelled: Example, looked_up: Example) -> None:
    found = measure_shortcuts([spelled, looked_up])
    assert found.chains == 2
    assert found.passed["open_loop"] == found.passed["copy_ids"] == (spelled.id,)
    values = find_values(found)
    assert (values["open_loop"], values["call_everything"], values["call_nothing"]) == (0.5, 0, 0)
    assert values["call_everything_name"] == pytest.approx((1 / len(TOOLS) + 2 / len(TOOLS)) / 2)
    assert {row.name: row.meets_target for row in found.rows} == {
        "call_everything_name": False,
        "call_everything": True,
        "copy_ids": False,
        "replay_twin": False,
        "open_loop": False,
        "call_nothing": None,
    }


def test_an_oracle_writes_the_words_of_the_user_for_an_observed_id(looked_up: Example) -> None:
    assert open_loop(looked_up) == (
        LIST,
        transfer("account with the highest balance", "account with the lowest balance"),
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Show 1 card, then freeze it.", "it"),
        ("Show 1 card, a debit one by the way, then freeze it.", "debit"),
    ],
)
def test_an_entity_without_a_name_is_guessed_by_a_label_that_the_user_says(said: str, expected: str) -> None:
    cards = ToolCall("list_cards", {"limit": 1})
    example = record(said, cards, ToolCall("freeze_card", {"card": find_card(cards)}))
    assert open_loop(example) == (cards, ToolCall("freeze_card", {"card": expected}))


def test_an_observed_number_is_guessed_from_the_schema() -> None:
    first, other = list_accounts()[:2]
    ids = (first["id"], other["id"])
    example = record(
        f"List my accounts and move all from {ids[0]} to {ids[1]}.", LIST, transfer(*ids, first["balance"])
    )
    assert open_loop(example) == (LIST, transfer(*ids, 500))


def test_values_are_replaced_at_any_depth(spelled: Example) -> None:
    call = ToolCall("plan", {"stops": [{"at": "a", "days": 1}, {"at": "b"}], "by": "car"})
    example = replace(spelled, steps=(Step((call, call)),))
    changed = substitute(example, {(0, 1, "stops", (1, "at")): "c", (0, 0, "by", ()): "bus"})
    assert changed == (
        ToolCall("plan", {"stops": [{"at": "a", "days": 1}, {"at": "b"}], "by": "bus"}),
        ToolCall("plan", {"stops": [{"at": "a", "days": 1}, {"at": "c"}], "by": "car"}),
    )


def test_ids_are_copied_in_turn(looked_up: Example) -> None:
    one, other, third = (account["id"] for account in list_accounts()[:3])
    example = record(f"From {other} to {one}, please.", transfer(other, one), transfer(third, one))
    assert copy_ids(example) == (transfer(other, one), transfer(other, one))
    assert copy_ids(looked_up) == (LIST, transfer("balance", "balance"))


def test_a_twin_world_gives_the_ids_at_the_same_places(looked_up: Example) -> None:
    twin = [one["id"] for one in list_accounts(SEED + 1)]
    places = {one["id"]: place for place, one in enumerate(list_accounts())}
    arguments = looked_up.steps[1].calls[0].arguments or {}
    source, target = (places[arguments[name]] for name in ("source", "target"))
    assert max(source, target) < len(twin)
    assert replay_twin(looked_up) == (LIST, transfer(twin[source], twin[target]))
    assert is_passed(looked_up, run_policy(looked_up, lambda _: (LIST, *looked_up.steps[1].calls)))


def test_an_id_without_a_counterpart_in_the_twin_world_is_made_up() -> None:
    account = list_accounts()[0]["id"]
    assert account not in {one["id"] for one in list_accounts(SEED + 1)}
    cards = ToolCall("list_cards", {"account": account})
    unfreeze = ToolCall("unfreeze_card", {"card": find_card(cards)})
    example = record(f"Show the cards of {account} and unfreeze the only one now.", cards, unfreeze)
    assert replay_twin(example) == (cards, ToolCall("unfreeze_card", {"card": "now"}))


def test_calls_are_real_and_written_before_any_observation(planned: list[Example], chains: list[Example]) -> None:
    assert planned
    for example in (*planned, *chains[:6]):
        where = example.world
        for policy in POLICIES.values():
            rollout, world = run_policy(example, policy), World.open(where.seed, where.servers, where.size)
            made = [call.call for call in rollout.calls]
            assert made == list(policy(example))
            assert {call.turn for call in rollout.calls} <= {0}
            assert [call.observation for call in rollout.calls] == [
                world.call(call.name, call.arguments or {}).text for call in made
            ]
            assert rollout.digest == world.digest()
            assert rollout.end == "answered"


def test_no_policy_passes_chains_planned_as_dependent_wishes_with_ids(planned: list[Example]) -> None:
    fed = [one for one in planned if one.fed]
    assert fed
    found = measure_shortcuts(fed)
    assert not any(found.passed[name] for name in ("call_everything", "replay_twin", "open_loop", "call_nothing"))


def test_every_candidate_tool_is_called_once_up_to_the_limit(chains: list[Example]) -> None:
    for example in chains[:6]:
        made = [call.name for call in call_everything(example)]
        assert made == list(example.candidates[: Limits().calls])
    assert call_nothing(chains[0]) == ()


def test_further_look_ups_do_not_matter_and_further_changes_do(looked_up: Example) -> None:
    truth = tuple(call for step in looked_up.steps for call in step.calls)
    assert is_passed(looked_up, run_policy(looked_up, lambda _: (*truth, ToolCall("list_cards", {}))))
    assert not is_passed(looked_up, run_policy(looked_up, lambda _: (*truth, truth[1])))
    assert not is_passed(looked_up, run_policy(looked_up, lambda _: truth[::-1]))


def test_figures_are_shares_of_the_sample(chains: list[Example]) -> None:
    found = measure_shortcuts(chains, 5)
    assert found.chains == 5
    assert [row.name for row in found.rows] == [row.name for row in SHORTCUT_ROWS]
    assert all(0 <= row.value <= 1 for row in found.rows)
    values = find_values(found)
    assert {name: len(ids) / 5 for name, ids in found.passed.items()} == {name: values[name] for name in POLICIES}
    assert measure_shortcuts(chains, 5) == found


def test_the_sample_has_chains_alone_and_is_the_same_in_any_order(examples: tuple[Example, ...]) -> None:
    sample = draw_sample(examples, 10)
    shuffled = list(examples)
    random.Random(0).shuffle(shuffled)
    assert draw_sample(iter(shuffled), 10) == sample
    assert len(sample) == 10 and {one.kind for one in sample} == {"chain"}
    assert len(draw_sample(examples, len(examples))) == sum(one.kind == "chain" for one in examples)


def test_imported_chains_are_left_out(spelled: Example) -> None:
    imported = replace(spelled, source="openai", tools=(ForeignTool("look", "Look.", {}),))
    assert measure_shortcuts([imported]) == replace(measure_shortcuts([]), chains=0)
    assert set(find_values(measure_shortcuts([])).values()) == {0}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "word"),
        ({}, "word"),
        ({"enum": ["b", "a"], "type": "string"}, "b"),
        ({"const": 7}, 7),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "number"}, 0),
        ({"type": "integer", "minimum": 1, "examples": [500, 950]}, 500),
        ({"type": "boolean"}, False),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 0),
        ({"$ref": "#/$defs/Mode"}, "slow"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["word", "word"]),
        ({"type": "array"}, ["word"]),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]},
            {"a": 0},
        ),
    ],
)
def test_a_plain_value_is_made_of_a_schema(schema: Json, expected: Json) -> None:
    assert fill_schema(schema, {"Mode": {"enum": ["slow", "fast"]}}, "word") == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [((), [{"id": 1}]), ((0, "id"), 1), ((1, "id"), None), ((0, "name"), None), (("id",), None), ((0, "id", 0), None)],
)
def test_a_part_is_found_at_its_path(path: tuple[str | int, ...], expected: Json) -> None:
    assert find_part(json.loads('[{"id": 1}]'), path) == expected


@pytest.mark.parametrize(("text", "expected"), [("Close it, Ann-Lee's way!", "way"), ("To ACC-1.", "ACC-1"), ("?", "")])
def test_the_last_word_has_no_punctuation_around_it(text: str, expected: str) -> None:
    assert last_word(text) == expected
