"""Conversations of the kind missing_function: in each sort the right act, from what is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import networkx as nx
import pytest

from mcp_servers.catalogue import TOOLS
from mcp_servers.world import World
from tests.prove.known import cached_examples
from training_worker.chat.messages import ARRIVED, chat_messages, user_message
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Act, Arrival, Example, dumps, loads
from training_worker.dataflow.resolver import list_unresolved_values
from training_worker.datasets.drift import rerun
from training_worker.datasets.edits import apply_edits, as_it_is
from training_worker.datasets.export.lines import jsonl, openai
from training_worker.datasets.importers.studio_export import BadRow, check_replay, read
from training_worker.datasets.manifest import DrawCounts, part
from training_worker.datasets.replay import drift_of, unusable
from training_worker.environment.episode import Attempt, Prompt, demonstration, oracle
from training_worker.graph.dependency_graph import load_or_build
from training_worker.synthesis.clarification import can_leave_out, draw_sort, has_default, split
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.decline_proof import EXHAUSTED, SERVED
from training_worker.synthesis.goals import Plan, PlannedCall, Wish
from training_worker.synthesis.knobs import PAPER, Sort
from training_worker.synthesis.replies import DECLINES
from training_worker.synthesis.tool_results import ToolResult
from training_worker.synthesis.validate import Rejected

SORTS: tuple[Sort, ...] = get_args(Sort)
COUNTS = {"asked": 6, "looked_up": 6, "default": 6, "arrives": 10, "declined": 6, "partly": 8}
ENDS = {"asked": "ask", "arrives": "decline", "declined": "decline", "partly": "decline"}
AGAIN = """
import sys
from tests.prove.test_clarification import examples_of
from training_worker.graph.dependency_graph import load_or_build
from pathlib import Path
from training_worker.core.trajectory import dumps
print(*map(dumps, examples_of(load_or_build(Path(sys.argv[1])), "arrives", 2)), sep="\\n")
"""


def recipe(sort: Sort) -> Recipe:
    return Recipe(knobs=replace(PAPER, sorts={sort: 1.0}), worlds=4)


def examples_of(graph: nx.DiGraph, sort: Sort, count: int) -> list[Example]:
    made = (make(index, "train", graph, recipe(sort), "missing_function")[0] for index in range(count))
    return [example for example in made if example]


@pytest.fixture(scope="module")
def by_sort(graph_folder: Path) -> dict[str, list[Example]]:

    def draw(sort: Sort) -> list[Example]:
        return examples_of(load_or_build(graph_folder), sort, COUNTS[sort])

    return {sort: cached_examples(f"clarification-{sort}", __file__, partial(draw, sort)) for sort in SORTS}


@pytest.fixture(scope="module")
def all_sorts(by_sort: dict[str, list[Example]]) -> list[Example]:
    return [example for sort in SORTS for example in by_sort[sort]]


@pytest.fixture(scope="module")
def arriving(by_sort: dict[str, list[Example]]) -> list[Example]:
    return by_sort["arrives"]


def arrived(example: Example) -> tuple[int, str]:
    """Return the turn in which a tool arrives, and its name."""
    (arrival,) = example.arrivals
    (tool,) = arrival.tools
    return arrival.turn, tool


def refuses(example: Example) -> bool:
    """Return whether a declining answer says that something cannot be done."""
    answer = example.answers[example.acts.index("decline")]
    return any(re.search(re.escape(one).replace(r"\{it\}", r"\w.+"), answer) for one in DECLINES)


def test_most_indices_give_an_example_of_their_sort(by_sort: dict[str, list[Example]]) -> None:
    for sort, count in COUNTS.items():
        assert len(by_sort[sort]) >= 0.6 * count, sort
        for example in by_sort[sort]:
            named = [name for name in example.features if name in SORTS]
            assert example.kind == "missing_function"
            assert named == (["declined", "partly"] if sort == "partly" else [sort])


def test_each_replays_and_its_oracle_earns_the_most_there_is(all_sorts: list[Example]) -> None:
    for example in all_sorts:
        assert drift_of(example) is None and not rerun(example).differences, example.id
        reward = oracle(example).reward
        assert reward and reward.total == pytest.approx(1.0 if example.abstains else 1.3), example.id
        assert not list_unresolved_values(example)


def test_only_those_that_are_declined_alone_abstain(by_sort: dict[str, list[Example]]) -> None:
    for sort, examples in by_sort.items():
        assert {example.abstains for example in examples} == {sort == "declined"}


def test_the_acts_are_those_of_the_sort(by_sort: dict[str, list[Example]]) -> None:
    for sort, examples in by_sort.items():
        for example in examples:
            due = Counter[Act](one for one in example.acts if one in ("ask", "decline"))
            assert due == Counter([ENDS[sort]] if sort in ENDS else []), (sort, example.acts)
            called = {step.turn for step in example.steps}
            assert all(turn in called for turn, act in enumerate(example.acts) if act == "call")


def test_one_asks_for_a_value_and_is_given_it_in_the_next_turn(by_sort: dict[str, list[Example]]) -> None:
    for example in by_sort["asked"]:
        turn = example.acts.index("ask")
        assert "?" in example.answers[turn] and example.level == "missing"
        without = (*example.turns[: turn + 1], "As I said.", *example.turns[turn + 2 :])
        assert list_unresolved_values(replace(example, turns=without)), example.turns


def test_what_is_looked_up_is_the_only_row_of_a_list(by_sort: dict[str, list[Example]]) -> None:
    for example in by_sort["looked_up"]:
        texts = [json.loads(text) for step in example.steps for text in step.observations]
        ids = {value for step in example.steps for call in step.calls for value in ids_of(call.arguments or {})}
        lone = [rows[0] for data in texts for rows in lists(data) if len(rows) == 1 and isinstance(rows[0], dict)]
        assert any(ids & ids_of(row) for row in lone), example.id
        assert "ask" not in example.acts


def ids_of(row: dict[str, object]) -> set[str]:
    return {value for value in row.values() if isinstance(value, str)}


def lists(data: object) -> list[list[object]]:
    """Return all lists in a result."""
    inside = data if isinstance(data, list) else list(data.values()) if isinstance(data, dict) else []
    return [*([data] if isinstance(data, list) else []), *(found for one in inside for found in lists(one))]


def test_a_call_does_without_what_is_optional(by_sort: dict[str, list[Example]]) -> None:
    for example in by_sort["default"]:
        calls = [call for step in example.steps for call in step.calls if has_default(call.name)]
        assert any((call.arguments or {}).keys() <= set(TOOLS[call.name][1].required) for call in calls), example.id


def test_a_wish_is_declined_before_its_tool_arrives_and_served_when_it_does(arriving: list[Example]) -> None:
    for example in arriving:
        turn, tool = arrived(example)
        assert turn > 0 and example.acts[turn - 1] == "decline" and example.acts[turn] == "call"
        calls = [(step.turn, call.name) for step in example.steps for call in step.calls]
        assert [at for at, name in calls if name == tool] == [turn], example.id
        assert tool not in example.candidates and tool in example.offered and refuses(example)
    assert any(step.turn < arrived(example)[0] for example in arriving for step in example.steps), "none is served"


def test_the_tool_is_in_no_prompt_before_its_turn_and_in_that_turn_s_message(arriving: list[Example]) -> None:
    for example in arriving:
        turn, tool = arrived(example)
        prompt = Prompt(example)
        assert f'"{tool}"' not in json.dumps(prompt.tools)
        messages = [*prompt.opening, *demonstration(example)]
        users = [message.content for message in messages if message.role == "user"]
        assert [ARRIVED in text for text in users] == [at == turn for at in range(len(users))]
        schema = json.loads(users[turn].split(ARRIVED, 1)[1])
        assert schema["function"]["name"] == tool and users[turn].startswith(example.turns[turn])
        before = messages[: next(at for at, message in enumerate(messages) if message.content == users[turn])]
        assert not any(f'"{tool}"' in message.content for message in before)
        exported = [one["content"] for one in chat_messages(example) if one["role"] == "user"]
        assert exported == users == [user_message(example, at).content for at in range(len(users))]


def test_an_arrived_tool_shows_its_choices_only_where_others_do(arriving: list[Example]) -> None:
    for example in arriving:
        turn, tool = arrived(example)
        stripped = user_message(replace(example, enums_stripped=True), turn).content
        assert '"enum"' not in stripped and f'"{tool}"' in stripped


def test_a_call_of_the_tool_before_it_arrives_is_of_an_unknown_tool(arriving: list[Example]) -> None:
    for example in arriving:
        _, tool = arrived(example)
        call = next(call for step in example.steps for call in step.calls if call.name == tool)
        attempt = Attempt(example)
        attempt.answer(write_calls([call]))
        assert attempt.calls[-1].level == 0 and "unknown_tool" in attempt.calls[-1].observation
        for message in demonstration(example):
            if message.role == "assistant" and not attempt.over:
                attempt.answer(message.content)
        rollout = attempt.finish()
        assert rollout.calls[-1].level > 0 and rollout.reward and rollout.reward.total < 1.3
        assert next(one.level for one in rollout.calls[1:] if one.call.name == tool) == 3


def test_all_but_one_of_the_wishes_are_served(by_sort: dict[str, list[Example]]) -> None:
    for example in by_sort["partly"]:
        assert example.steps and refuses(example), example.answers
        assert all(call.name in example.candidates for step in example.steps for call in step.calls)
    turns = [(example, example.acts.index("decline")) for example in by_sort["partly"]]
    assert any(step.turn == turn for example, turn in turns for step in example.steps), "served in the same turn"


def test_a_wish_is_left_out_only_where_the_rest_stays_the_same() -> None:
    world = World.open(5, ("shopping",))
    line = world.fork().call("show_shop_cart", {}).data["lines"][0]
    plan = Plan([], [])
    more = {"line": line["id"], "quantity": line["quantity"] + 1}
    calls = [("show_shop_cart", {}), ("set_shop_cart_quantity", more), ("show_shop_cart", {})]
    for wish, (tool, arguments) in enumerate(calls):
        before = world.fork()
        reply = world.call(tool, arguments)
        assert reply.ok, reply.text
        plan.wishes.append(Wish(tool, "", {}, [wish], "opening"))
        plan.calls.append(
            PlannedCall(tool, arguments, ToolResult(tool, reply.text), wish, frozenset(), before, world.fork())
        )
    assert [can_leave_out(plan, at) for at in range(3)] == [True, False, True]
    plan.calls[2].rests_on = frozenset({0})
    assert [can_leave_out(plan, at) for at in range(3)] == [False, False, True]


@pytest.mark.parametrize(("cuts", "groups"), [([], [[1, 2, 3]]), ([2], [[1], [2, 3]]), ([0, 1, 4], [[1, 2, 3]])])
def test_positions_are_split_at_the_cuts_among_them(cuts: list[int], groups: list[list[int]]) -> None:
    assert split(1, 4, cuts) == groups


def test_the_shares_are_those_of_the_knobs() -> None:
    draws = 4_000
    drawn = Counter(draw_sort(PAPER, 0, "train", index) for index in range(draws))
    assert {sort: count / draws for sort, count in drawn.items()} == pytest.approx(dict(PAPER.sorts), abs=0.03)
    assert sum(PAPER.sorts.values()) == pytest.approx(1) and set(PAPER.sorts) == set(SORTS)


def test_the_page_has_the_shares_of_the_knobs() -> None:
    page = (Path(__file__).parents[2] / "docs/conversations.md").read_text("utf-8")
    table = {name: int(share) / 100 for name, share in re.findall(r"^\| `(\w+)` \| (\d+)% \|", page, re.M)}
    shares = dict(PAPER.sorts)
    shares["declined"] += shares.pop("partly")
    assert table == pytest.approx(shares) and PAPER.sorts["partly"] == pytest.approx(shares["declined"] / 3)


def test_a_conversation_is_the_same_in_another_process_with_another_hash_seed(
    arriving: list[Example], graph_folder: Path
) -> None:
    command = [sys.executable, "-c", AGAIN, str(graph_folder)]
    run = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True)
    lines = [dumps(example) for example in arriving if int(example.id.rsplit("-", 1)[1]) < 2]
    assert run.stdout.splitlines() == lines and lines


def test_an_arrival_survives_export_and_import_and_is_left_out_where_there_is_none(arriving: list[Example]) -> None:
    example = arriving[0]
    assert loads(Example, dumps(example)) == example and '"arrivals"' in dumps(example)
    assert '"arrivals"' not in dumps(replace(example, arrivals=()))
    line = json.loads(next(iter(jsonl([example], {}))))
    found = read(line)
    assert isinstance(found, Example) and found == example and check_replay(found)
    chat = json.loads(next(iter(openai([example], {}))))
    _, tool = arrived(example)
    assert tool not in [one["function"]["name"] for one in chat["tools"]]
    assert sum(ARRIVED in one["content"] for one in chat["messages"]) == 1


@pytest.mark.parametrize("turn", [0, -1, 9])
def test_a_tool_that_arrives_in_no_later_turn_is_no_record(turn: int, arriving: list[Example]) -> None:
    wrong = replace(arriving[0], arrivals=(Arrival(turn, arriving[0].arrivals[0].tools),))
    assert (drift := unusable(wrong)) and drift.cause == "record"
    with pytest.raises(BadRow, match="arrive"):
        read(json.loads(dumps(wrong)))


def test_an_arrived_tool_that_is_gone_is_named(arriving: list[Example]) -> None:
    gone = replace(arriving[0], arrivals=(Arrival(1, ("no_such_tool",)),))
    assert (drift := unusable(gone)) and drift.cause == "tool" and "no_such_tool" in drift.reason
    assert user_message(gone, 1).content == gone.turns[1]


def test_a_mended_conversation_keeps_its_arrival_and_no_call_comes_before_it(arriving: list[Example]) -> None:
    example = arriving[0]
    made = apply_edits("hand-1", example, as_it_is(example))
    assert made == replace(example, id="hand-1")
    wanted = as_it_is(example)
    early = tuple(replace(call, turn=0) for call in wanted.calls)
    with pytest.raises(Rejected):
        apply_edits("hand-2", example, replace(wanted, calls=early))


def test_the_manifest_counts_how_searches_ended(all_sorts: list[Example]) -> None:
    dropped = {f"Rejected: {EXHAUSTED}": 2, f"Rejected: {SERVED}": 5, "StepRefused: stop_engine": 3}
    counted = part(all_sorts, "", DrawCounts(drawn=90, dropped=dropped))
    hidden = sum("decline" in example.acts for example in all_sorts)
    assert counted.searches == {"unserved": hidden, "served": 5, "exhausted": 2}
    assert part([], "", DrawCounts(drawn=0, dropped={})).searches == {}
