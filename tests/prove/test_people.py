"""250 conversations of the paper's recipe, over all servers: mix, levels, turns, failures, and how people speak."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.catalogue import TOOLS
from mcp_servers.world import World
from tests.prove.known import cached_examples
from training_worker.core.trajectory import Example, Failure
from training_worker.dataflow.provenance import single, verbalize, ways_to_say
from training_worker.dataflow.quality import ROWS, fed_edges, measure
from training_worker.dataflow.resolver import Mention, list_unresolved_values, resolve
from training_worker.dataflow.templates import PERSONAS, long_day
from training_worker.datasets.compare import commonest, distinct
from training_worker.datasets.recipes import PLANS, by_kind
from training_worker.environment.episode import Limits, demonstration
from training_worker.graph.dependency_graph import load_or_build
from training_worker.synthesis.dataset import assemble
from training_worker.synthesis.dedup import THRESHOLD, jaccard, signature
from training_worker.synthesis.dependence import enabled_edges
from training_worker.synthesis.knobs import PAPER
from training_worker.synthesis.validate import Rejected, provenance, require_valid

COUNTS = by_kind((202, 28, 20))
NAMED_THING = re.compile(r'"[^"]++"|\b[\w-]++\.[a-z]{2,4}\b|\b[A-Z]{3,4}-\d{4}\b')  # quoted texts, files and ids
NAMES = {name for name in TOOLS if "_" in name} | {
    parameter for _, tool in TOOLS.values() for parameter in tool.input_schema["properties"] if "_" in parameter
}


@pytest.fixture(scope="module")
def people(graph_folder: Path) -> list[Example]:
    recipe = replace(PLANS["1k"].recipe, worlds=4)
    return cached_examples(
        "people", __file__, lambda: assemble(COUNTS, "train", load_or_build(graph_folder), recipe, processes=1)[0]
    )


@pytest.fixture(scope="module")
def talks(people: list[Example]) -> list[Example]:
    return [example for example in people if example.kind == "chain"]


def test_the_mix_is_the_recipe_s(people: list[Example]) -> None:
    assert Counter(example.kind for example in people) == COUNTS and len(people) == 250


def test_users_speak_as_often_as_the_readme_says(talks: list[Example]) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    stated = re.search(r"over (\d) to (\d) user turns", readme)
    turns = {len(example.turns) for example in talks}
    assert stated and turns <= set(range(int(stated[1]), int(stated[2]) + 1)) and {2, 3, 4} <= turns


def test_every_conversation_holds(people: list[Example]) -> None:
    for example in people:
        require_valid(example)


def test_no_two_are_alike(people: list[Example]) -> None:
    signatures = [signature(example) for example in people]
    for position, own in enumerate(signatures):
        assert all(jaccard(own, other) <= THRESHOLD for other in signatures[:position])


def test_levels_come_about_as_often_as_in_the_paper(talks: list[Example]) -> None:
    share = {level: count / len(talks) for level, count in Counter(example.level for example in talks).items()}
    assert share == pytest.approx(dict(PAPER.levels), abs=0.07)


def test_users_speak_two_or_three_times_and_once_more_where_something_is_cleared_up(talks: list[Example]) -> None:
    for example in talks:
        extra = (example.level == "missing") + any(one.recovery == "gave_up" for one in example.failures)
        assert 2 <= len(example.turns) <= 3 + extra and len(example.answers) == len(example.turns)


def test_a_rollout_has_room_for_the_ground_truth_and_one_detour(talks: list[Example]) -> None:
    limits = Limits()
    for example in talks:
        assert len(example.steps) >= 2 and len(example.steps) + len(example.turns) < limits.assistant_turns
        assert len(example.turns) <= limits.user_turns


def test_the_conversations_depend_on_tools_as_the_measure_asks(people: list[Example]) -> None:
    """Every target that does not grow with the sample; the commonest opening is one of few here."""
    found = measure(people)
    missed = {row.name: found.value(row) for row in ROWS if found.meets_row_target(row) is False}
    assert set(missed) <= {"distinct_2", "distinct_4"}, missed


def test_every_edge_is_proven(talks: list[Example]) -> None:
    for example in talks:
        assert set(example.fed) | set(example.enabled) == set(example.edges)
        assert example.fed == fed_edges(example) and set(enabled_edges(example)) == set(example.enabled)


def test_every_value_of_the_ground_truth_can_be_derived(talks: list[Example]) -> None:
    for example in talks:
        assert not list_unresolved_values(example)
        leaves = sum(len(list(single(call.arguments or {}))) for step in example.steps for call in step.calls)
        assert len(resolve(example)) == leaves


def test_a_value_that_was_left_open_is_requested_and_then_said(talks: list[Example]) -> None:
    for example in talks:
        places = [turn for turn, act in enumerate(example.acts) if act == "ask"]
        assert len(places) == (example.level == "missing") and len(example.acts) == len(example.turns)
        for place in places:
            assert "?" in example.answers[place]
            step = next(at for at, step in enumerate(example.steps) if step.turn == place + 1)
            said = [one.where.turn for one in resolve(example) if isinstance(one.where, Mention) and one.step >= step]
            named = [one for one in resolve(example) if one.step >= step and one.kind == "observation"]
            assert place + 1 in said or named, example.turns


def test_failures_are_real_and_of_every_recovery(talks: list[Example]) -> None:
    failures = [(example, failure) for example in talks for failure in example.failures]
    assert {failure.recovery for _, failure in failures} == {"corrected", "other_tool", "gave_up"}
    for example, failure in failures:
        assert failure.call.name in example.candidates and '"error"' in failure.observation
        if failure.recovery == "corrected":
            assert failure.call.name in {call.name for call in example.steps[failure.step].calls}
        if failure.recovery == "gave_up":
            assert failure.step == len(example.steps) and "cannot be done" in example.answers[failure.turn]
            assert opening(example).call(failure.call.name, failure.call.arguments or {}).ok, "it worked at first"
        assert failure.observation not in " ".join(message.content for message in demonstration(example))


def opening(example: Example) -> World:
    return World.open(example.world.seed, example.world.servers, example.world.size)


def test_a_failure_that_does_not_happen_again_is_rejected(talks: list[Example]) -> None:
    example = next(example for example in talks if example.failures)
    failure = example.failures[0]
    other = Failure(failure.step, failure.turn, failure.call, "Never said.", failure.recovery)
    with pytest.raises(Rejected, match=f"{failure.call.name} does not fail before step {failure.step} as it did"):
        require_valid(replace(example, failures=(other,)))
    works = Failure(0, 0, example.steps[0].calls[0], "", "corrected")
    with pytest.raises(Rejected, match="does not fail before step 0"):
        require_valid(replace(example, failures=(works,)))


def test_the_reference_date_is_the_world_s_and_is_said(talks: list[Example]) -> None:
    dated = [example for example in talks if example.today]
    assert dated
    for example in dated:
        assert f"{opening(example).now:%Y-%m-%d}" == example.today
        assert long_day(date.fromisoformat(example.today)) in example.turns[0]
        with pytest.raises(Rejected, match="nobody says that it is"):
            provenance(replace(example, turns=("Hello.", *example.turns[1:])))
        with pytest.raises(Rejected, match="as the user says"):
            require_valid(replace(example, today="2001-01-01", turns=("Monday, 1 January 2001", *example.turns[1:])))


def test_every_persona_speaks_and_nobody_says_a_name_out_of_the_code(people: list[Example]) -> None:
    assert {example.persona for example in people} == set(PERSONAS)
    for example in people:
        said = set(re.findall(r"\w+", " ".join(example.turns)))
        values = {
            word
            for step in example.steps
            for call in step.calls
            for value in (call.arguments or {}).values()
            for word in re.findall(r"\w+", verbalize(value))
        }
        assert (said - values) & NAMES == set(), example.turns


def test_a_request_that_is_declined_alone_names_what_it_is_about(people: list[Example]) -> None:
    """The user mentions every name that the refusal says: no request is about "that file", which nobody named."""
    declined = [one for one in people if one.kind == "irrelevance" and len(one.turns) == 1]
    names = [(name, one.turns[0].lower()) for one in declined for name in NAMED_THING.findall(one.answers[0])]
    assert names and all(name.strip('"').lower() in said for name, said in names)


def test_knobs_are_on_record(people: list[Example]) -> None:
    for example in people:
        assert example.distractors == 0 or example.kind == "irrelevance" or 3 <= example.distractors <= 8
    share = sum(example.distractors > 0 for example in people if example.kind == "chain") / COUNTS["chain"]
    assert share == pytest.approx(PAPER.distractors, abs=0.08)
    assert sum(example.enums_stripped for example in people) / len(people) == pytest.approx(
        PAPER.enum_stripping, abs=0.07
    )


def test_requests_are_varied(people: list[Example]) -> None:
    """Most groups of four words in first turns differ, and no request is frequent, whatever its values."""
    assert distinct([example.turns[0] for example in people]) > 0.5
    assert commonest(people) <= 0.01


@pytest.mark.parametrize(
    ("value", "today", "ways"),
    [
        ("2026-03-05", "", ["5 March 2026"]),
        ("2026-03-05", "2026-03-05", ["5 March 2026", "today"]),
        ("2026-03-05T09:30:00Z", "2026-03-04", ["5 March 2026 at 9:30", "tomorrow at 9:30"]),
        ("2026-03-05T00:30:00.0+01:00", "2026-03-04", ["4 March 2026 at 23:30", "today at 23:30"]),
        ("2026-03-05T09:30:01Z", "2026-03-04", []),
        ("2026-03-05T09:30", "2026-03-04", []),
        ("2026-03-06", "2026-03-02", ["6 March 2026", "Friday"]),
        ("2026-03-09", "2026-03-02", ["9 March 2026"]),
        ("2026-13-40", "2026-03-02", []),
        ("REF-2026-03-05", "2026-03-02", []),
        (20260305, "2026-03-02", []),
    ],
)
def test_how_people_say_days(value: object, today: str, ways: list[str]) -> None:
    assert list(ways_to_say(value, today)) == ways


@given(st.dates(date(2020, 1, 1), date(2030, 12, 31)), st.dates(date(2020, 1, 1), date(2030, 12, 31)))
def test_two_days_are_never_said_alike(one: date, other: date) -> None:
    today = "2026-03-02"
    if one != other and min(one, other) >= date.fromisoformat(today):
        assert not set(ways_to_say(str(one), today)) & set(ways_to_say(str(other), today))
