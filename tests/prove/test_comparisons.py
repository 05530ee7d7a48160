"""Comparisons, sums and corrections: what they state is true of the observations, and only of these."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mcp_servers.catalogue import TOOLS
from mcp_servers.core.phrases import load_scenarios
from mcp_servers.world import World
from tests.prove.known import cached_examples
from tests.prove.test_resolver import example as converse
from training_worker.core.trajectory import Example, Step, dumps
from training_worker.dataflow.quality import fed_edges
from training_worker.dataflow.resolver import Mention, Origin, find_winners, list_unresolved_values, resolve
from training_worker.datasets.recipes import PLANS
from training_worker.graph.dependency_graph import load_or_build
from training_worker.synthesis.answer_numbers import unproven_numbers
from training_worker.synthesis.comparisons import measures
from training_worker.synthesis.conversation import make
from training_worker.synthesis.corrections import FRAMES, another_day, another_number
from training_worker.synthesis.decline_proof import effect

ROOT = Path(__file__).resolve().parents[2]
RECIPE = replace(PLANS["1k"].recipe, worlds=4)
MEASURING = [name for name in sorted(TOOLS) if measures(name)]
LOWEST = re.compile(r"\b(?:lowe|few|small|short|less|least)")


@pytest.fixture(scope="module")
def examples(graph_folder: Path) -> list[Example]:
    """Conversations about tools that show a number to compare, and about others."""

    def draw() -> list[Example]:
        graph = load_or_build(graph_folder)
        about = [make(at, "train", graph, RECIPE, "chain", name)[0] for at, name in enumerate(MEASURING)]
        others = [make(at, "train", graph, RECIPE, "chain")[0] for at in range(1_000, 1_120)]
        return [example for example in (*about, *others) if example]

    return cached_examples("comparisons", __file__, draw)


def having(examples: list[Example], feature: str) -> list[Example]:
    found = [example for example in examples if feature in example.features]
    assert len(found) >= 3, f"too few to show anything: {len(found)} with {feature}"
    return found


def winners(examples: list[Example]) -> list[tuple[Example, Origin]]:
    """Return the ids that follow from a comparison, with their examples."""
    found = [(one, origin) for one in examples for origin in resolve(one) if origin.compared is not None]
    assert len(found) >= 3
    return found


def compared(example: Example, origin: Origin) -> tuple[str, dict[str, int], int]:
    """Return the field that the user's words name, its numbers by id, and the position of the winner's call."""
    step = example.steps[origin.compared or 0]
    (tool,) = {
        call.name for call in step.calls if measures(call.name) and origin.value in (call.arguments or {}).values()
    }
    rows = {
        next(iter((call.arguments or {}).values())): json.loads(text)
        for call, text in zip(step.calls, step.observations, strict=True)
        if call.name == tool
    }
    (field,) = [
        name for name, one in measures(tool).items() if any(f" {noun}" in f" {origin.description}" for noun in one.noun)
    ]
    return field, {id: row[field] for id, row in rows.items()}, [*rows].index(origin.value)


def test_every_sum_in_an_answer_is_that_of_named_observed_numbers(examples: list[Example]) -> None:
    for example in having(examples, "sum"):
        assert unproven_numbers(example) == []
        wrong = replace(example, answers=tuple(re.sub(r"\d[\d,]*", another, text) for text in example.answers))
        assert unproven_numbers(wrong), "other numbers are not proven"


def another(found: re.Match[str]) -> str:
    return f"{int(found[0].replace(',', '')) * 7 + 1013}"


def test_a_sum_counts_only_where_its_parts_are_named() -> None:
    named = "Together that makes 30 euros: 10 euros for the first order and 20 euros for the second order."
    assert unproven_numbers(orders(1000, 2000, named)) == []
    assert unproven_numbers(orders(1000, 2000, "Together that makes 30 euros.")) == ["turn 0: 30"]
    assert unproven_numbers(orders(1000, 2000, named.replace("30", "31"))) == ["turn 0: 31"]
    assert unproven_numbers(orders(1000, 2100, named)) == ["turn 0: 30", "turn 0: 20"]


def orders(first: int, second: int, answer: str, turn: str = "Which orders?", later: tuple[Step, ...] = ()) -> Example:
    """Return an example in which two orders are looked up."""
    rows = [{"id": f"SHOR-{at}", "subtotal": value} for at, value in enumerate((first, second), 11)]
    listed = ("list_shop_orders", {}, [{"id": row["id"]} for row in rows])
    made = converse(turn, listed, *(("get_shop_order", {"order": row["id"]}, row) for row in rows))
    both = Step(
        tuple(step.calls[0] for step in made.steps[1:]), 0, tuple(step.observations[0] for step in made.steps[1:])
    )
    return replace(made, steps=(made.steps[0], both, *later), answers=(answer,))


def test_the_winner_has_the_most_or_least_of_the_live_rows(examples: list[Example]) -> None:
    for example, origin in winners(examples):
        _, numbers, _ = compared(example, origin)
        best = (min if LOWEST.search(origin.description) else max)(numbers.values())
        assert [id for id, number in numbers.items() if number == best] == [origin.value]
        assert (origin.compared, origin.step) in fed_edges(example) and set(find_winners(example))


def test_other_numbers_make_another_one_the_winner(examples: list[Example]) -> None:
    """If the numbers of the winner and of another entity are swapped, the call no longer follows from them."""
    for example, origin in winners(examples):
        field, numbers, winner = compared(example, origin)
        assert not list_unresolved_values(example)
        other = next(at for at, number in enumerate(numbers.values()) if number != numbers[str(origin.value)])
        assert any(
            f"by the {field}" in fault
            for fault in list_unresolved_values(swapped(example, origin, field, winner, other))
        )


def swapped(example: Example, origin: Origin, field: str, one: int, other: int) -> Example:
    """Return the example with the numbers of two observations of its compared step swapped."""
    at = origin.compared or 0
    step = example.steps[at]
    places = [place for place, call in enumerate(step.calls) if field in measures(call.name)]
    rows: list[Any] = [json.loads(text) for text in step.observations]
    a, b = rows[places[one]], rows[places[other]]
    a[field], b[field] = b[field], a[field]
    changed = replace(step, observations=tuple(json.dumps(row) for row in rows))
    return replace(example, steps=(*example.steps[:at], changed, *example.steps[at + 1 :]))


def corrected(example: Example) -> tuple[int, str, Any]:
    """Return the step of the correction, the parameter and the new value."""
    for at, step in enumerate(example.steps):
        spoken = example.turns[step.turn]
        framed = any(fits(frame, spoken) for frame in ALL_FRAMES)
        for before in [call for one in example.steps[:at] if one.turn < step.turn and framed for call in one.calls]:
            old, new = before.arguments or {}, step.calls[0].arguments or {}
            names = [name for name in new if name in old and name not in TOOLS[step.calls[0].name][1].ids]
            changed = [name for name in names if old[name] != new[name]]
            if len(changed) == 1:
                return at, changed[0], new[changed[0]]
    raise AssertionError(f"{example.id} has no correction")


ALL_FRAMES = [frame for frames in FRAMES.values() for frame in frames]


def fits(frame: str, turn: str) -> bool:
    """Return whether a turn begins with a frame of a correction."""
    pattern = re.escape(frame).replace(r"\{new\}", ".+").replace(r"\{old\}", ".+")
    return bool(re.match(pattern, turn, re.I)) or bool(re.match(pattern.removesuffix(r"\."), turn, re.I))


def test_a_corrected_value_is_said_in_its_turn_and_all_else_before(examples: list[Example]) -> None:
    for example in having(examples, "correction"):
        at, name, value = corrected(example)
        own = [one for one in resolve(example) if one.step == at]
        (said,) = [one for one in own if one.parameter == name]
        assert isinstance(said.where, Mention) and said.where.turn == example.steps[at].turn and said.value == value
        assert all(
            not isinstance(one.where, Mention) or one.where.turn < said.where.turn for one in own if one is not said
        )
        assert any(later == at for _, later in example.fed), "it is about something that was looked up or made"


def test_a_correction_leaves_what_the_right_value_would_have_left(examples: list[Example]) -> None:
    for example in having(examples, "correction"):
        at, name, value = corrected(example)
        first = last_write(example, at)
        opening = World.open(example.world.seed, example.world.servers, example.world.size)
        for step in example.steps[:first]:
            run(opening, step)
        said, right = opening.fork(), opening.fork()
        run(said, example.steps[first])
        wrong = effect(opening, said)
        run(said, example.steps[at])
        call = example.steps[first].calls[0]
        assert right.call(call.name, {**(call.arguments or {}), name: value}).ok
        assert effect(opening, said) == effect(opening, right) != wrong


def last_write(example: Example, before: int) -> int:
    """Return the step with the write that is corrected; look-ups for later wishes of the turn may stand between."""
    writes = [at for at, step in enumerate(example.steps[:before]) if TOOLS[step.calls[0].name][1].writes]
    return writes[-1]


def run(world: World, step: Step) -> None:
    for call in step.calls:
        assert world.call(call.name, call.arguments or {}).ok


def test_corrections_are_varied() -> None:
    assert all(len(set(frames)) == len(frames) >= 12 for frames in FRAMES.values())
    for frame in ALL_FRAMES:
        assert "{new}" in frame


@pytest.mark.parametrize("old", [1, 3, 9, 10, 25, 140, 1299, 20000, 1234567])
def test_another_number_is_another_and_as_round(old: int) -> None:
    found = another_number(old)
    assert found and old not in found and all(number > 0 for number in found)
    assert old % 1000 or all(number % 500 == 0 for number in found)


def test_another_day_lies_ahead_and_keeps_its_time() -> None:
    days = another_day("2026-03-03", date(2026, 3, 2))
    assert days and "2026-03-03" not in days and all(day > "2026-03-02" for day in days)
    moments = another_day("2026-03-03T14:30:00Z", date(2026, 3, 2))
    assert moments and all(moment.endswith("T14:30:00Z") for moment in moments)


PROGRAM = """
from pathlib import Path
from training_worker.graph.dependency_graph import load_or_build
from training_worker.synthesis.conversation import make
from training_worker.core.trajectory import dumps
from tests.prove.test_comparisons import MEASURING, RECIPE
graph = load_or_build(Path(__import__("sys").argv[1]))
for at, name in enumerate(MEASURING[:6]):
    print(dumps(make(at, "train", graph, RECIPE, "chain", name)[0]))
"""


@pytest.mark.long
def test_conversations_are_the_same_for_every_hash_seed(examples: list[Example], graph_folder: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, str(graph_folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [dumps(example) for example in examples[:6]]


def test_edges_lead_between_the_servers_of_every_scenario(graph_folder: Path) -> None:
    graph = load_or_build(graph_folder)
    for one in load_scenarios():
        linked = [(a, b) for a, b in graph.edges if a in one.tools and b in one.tools]
        assert any(TOOLS[a][0] is not TOOLS[b][0] for a, b in linked), one.tools
