"""The rules of T-Eval: what they give for which answer, compared with brute force, in any order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prove.teval_files import APIS, CALL, KEYS, LAST, MARKS, PLAN, STEP
from training_worker.core.trajectory import Json
from training_worker.evaluation.teval import instruct, plan, review, step
from training_worker.evaluation.teval.entries import CATEGORIES, Entry
from training_worker.evaluation.teval.instruct import call_in_text
from training_worker.evaluation.teval.parser import Unreadable, answer_in, value_in
from training_worker.evaluation.teval.plan import first_named
from training_worker.evaluation.teval.plan_similarity import THRESHOLD, longest_increasing, pair_by_similarity
from training_worker.evaluation.teval.score import Rules, Verdict

RULES: dict[str, Rules] = {
    "instruct": instruct,
    "plan": plan,
    "reason": step,
    "retrieve": step,
    "understand": step,
    "review": review,
}
TRUTHS: dict[str, Json] = {
    "instruct": CALL,
    "plan": PLAN,
    "reason": STEP,
    "retrieve": STEP,
    "understand": STEP,
    "review": {"answer": "B"},
}


def alike(left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
    """Return 1 for each pair of equal texts and 0 for the others."""
    return [[float(one == other) for other in right] for one in left]


def entry(category: str, truth: Json = None) -> Entry:
    dimension, _, format = category.partition("_")
    return Entry(
        id=category,
        category=category,
        answer_key=category,
        prompt=(),
        truth=TRUTHS[dimension] if truth is None else truth,
        format=format,
        template=KEYS if format == "json" else MARKS,
        apis=tuple(APIS),
    )


def judged(category: str, text: str, truth: Json = None) -> Verdict:
    return RULES[category.partition("_")[0]].score(entry(category, truth), answer_in(text), alike)


CALL_TEXT = """goal: as asked\nname: FilmDouban.search\nargs: {'film': 'It\\'s "Up"', 'year': 2009}"""
STEP_TEXT = json.dumps(STEP)
KNOWN: list[tuple[str, str, float, str]] = [
    (
        "instruct_json",
        '{"goal": "", "name": "FilmDouban.search", "args": {"year": 2009}}',
        (1 + 2 / 3) / 2,
        "wrong_arguments",
    ),
    ("instruct_json", '{"goal": "", "name": "other", "args": {"year": 2009}}', (1 + 1 / 3) / 2, "wrong_tool"),
    ("instruct_json", '{"goal": "", "name": "FilmDouban.search", "args": "film"}', (1 + 1 / 3) / 2, "wrong_arguments"),
    ("instruct_json", '{"name": "FilmDouban.search", "args": {}}', 0.0, "malformed_answer"),
    ("instruct_json", 'It is {"goal": "", "name": "", "args": {}}', 0.0, "malformed_answer"),
    ("instruct_json", "[1, 2]", 0.0, "malformed_answer"),
    ("instruct_str", CALL_TEXT, 1.0, ""),
    ("instruct_str", f"<think>name: hm</think>\n```{CALL_TEXT}```", 1.0, ""),
    ("instruct_str", CALL_TEXT + "\nuser: and then?", 1.0, ""),
    ("instruct_str", CALL_TEXT.replace("2009", "true"), (1 + 1 / 3) / 2, "wrong_arguments"),
    ("instruct_str", "goal: as asked\nargs: {}\nname: x", 0.0, "malformed_answer"),
    ("plan_json", json.dumps(PLAN), 1.0, ""),
    ("plan_json", "My plan: " + json.dumps(PLAN[:3]), 1.0, ""),
    ("plan_json", json.dumps(PLAN[:1]), 2 * 1 / (1 + 3), "another_plan"),
    ("plan_json", json.dumps([{**one, "args": {"other": 1}} for one in PLAN]), 1 / 3, "another_plan"),
    ("plan_json", '[{"id": 0, "name": "Clock.now", "args": {}}]', 2 * 1 / (1 + 3), "another_plan"),
    ("plan_json", '[{"id": 0, "name": "FinishAction", "args": {}}]', 0.0, "another_plan"),
    ("plan_json", '[{"id": 0, "name": "FilmDouban.search"}]', 0.0, "malformed_answer"),
    ("plan_json", "[]", 0.0, "malformed_answer"),
    ("plan_str", "First nothing. Then FilmDouban.search_all is called", 2 * 1 / (1 + 3), "another_plan"),
    ("plan_str", "I cannot.", 0.0, "malformed_answer"),
    ("reason_json", STEP_TEXT, 1.0, ""),
    ("reason_json", f"Here it is:\n```json\n{STEP_TEXT}\n```", 1.0, ""),
    ("reason_json", '{"name": "FilmDouban.search"}', 0.0, "another_thought"),
    ("reason_str", STEP["thought"], 1.0, ""),  # type: ignore[list-item]
    ("retrieve_json", str(STEP), 1.0, ""),
    ("retrieve_json", '{"name": "FilmDouban.search_all"}', 0.0, "wrong_tool"),
    ("retrieve_str", "I would call FilmDouban.search", 1.0, ""),
    ("retrieve_str", "FilmDouban.search_all", 0.0, "wrong_tool"),
    ("retrieve_str", "FilmDouban.search, then FinishAction", 0.0, "wrong_tool"),
    ("retrieve_str", "search", 0.0, "wrong_tool"),
    ("understand_json", STEP_TEXT, 1.0, ""),
    ("understand_json", '{"args": {"film": "Up", "year": "2009", "more": 1}}', 1.0, ""),
    ("understand_json", '{"args": {"film": "Up"}}', 0.5, "wrong_arguments"),
    ("understand_json", "nothing", 0.0, "malformed_answer"),
    ("review_str", "B", 1.0, ""),
    ("review_str", "Answer: B. It failed", 1.0, ""),
    ("review_str", "Answer: C", 0.0, "wrong_choice"),
    ("review_str", "The answer is B", 0.0, "malformed_answer"),
    ("review_str", "", 0.0, "malformed_answer"),
]


@pytest.mark.parametrize(("category", "text", "score", "failure"), KNOWN)
def test_an_answer_gets_what_t_eval_gives_it(category: str, text: str, score: float, failure: str) -> None:
    found = judged(category, text)
    assert (found.score, found.failure, found.passed) == (pytest.approx(score), failure, not failure)


def test_where_no_arguments_are_wanted_any_are_wrong() -> None:
    assert judged("understand_json", '{"args": {}}', LAST).passed
    assert judged("understand_json", '{"args": {"a": 1}}', LAST) == Verdict(0.0, "wrong_arguments")
    assert judged("understand_str", "'team@example.com'", {"args": "team@example.com"}).passed
    assert judged("understand_str", "team", {"args": "team@example.com"}) == Verdict(0.0, "wrong_arguments")


def test_what_is_no_plan_even_in_the_ground_truth_is_worth_nothing() -> None:
    assert judged("plan_json", json.dumps(PLAN), "no plan").score == 0.0
    assert judged("reason_json", STEP_TEXT, "no step").score == 0.0


@given(
    st.text() | st.text("{}[]()'\":,.0 abcAB\\\n") | st.sampled_from([text for _, text, _, _ in KNOWN]),
    st.sampled_from(CATEGORIES),
)
def test_any_text_has_a_score_from_0_to_1_and_passes_with_all_of_it(text: str, category: str) -> None:
    found = judged(category, text)
    assert 0 <= found.score <= 1 and found.passed == (found.score == 1) == (not found.failure)


WEIGHTS = st.integers(1, 4).flatmap(
    lambda columns: st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 0.8, 0.81, 0.9, 0.95, 1.0]), min_size=columns, max_size=columns),
        min_size=1,
        max_size=4,
    )
)


def pairings(rows: int, columns: int) -> Iterator[dict[int, int]]:
    """Yield all ways to pair some rows with as many columns."""
    for count in range(min(rows, columns) + 1):
        for some in combinations(range(rows), count):
            for others in permutations(range(columns), count):
                yield dict(zip(some, others, strict=True))


@given(WEIGHTS)
def test_a_pairing_is_one_to_one_above_the_threshold_and_no_other_weighs_more(similar: list[list[float]]) -> None:
    def weight(pairs: dict[int, int]) -> float:
        return sum(similar[row][column] for row, column in pairs.items())

    found = pair_by_similarity(similar)
    assert len(set(found.values())) == len(found)
    allowed = [
        pairs
        for pairs in pairings(len(similar), len(similar[0]))
        if all(similar[row][column] > THRESHOLD for row, column in pairs.items())
    ]
    assert found in allowed and weight(found) == pytest.approx(max(map(weight, allowed)))


def same_kind(kinds: Sequence[int], others: Sequence[int]) -> list[list[float]]:
    return [[1.0 if one == other else 0.5 for other in others] for one in kinds]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12))
def test_a_plan_with_the_same_action_again_pairs_with_itself_in_order(kinds: list[int]) -> None:
    assert pair_by_similarity(same_kind(kinds, kinds)) == {row: row for row in range(len(kinds))}


def test_of_pairings_that_are_as_good_the_one_that_is_nearest_in_place_is_taken() -> None:
    assert pair_by_similarity(same_kind([1, 1, 1, 0], [0, 1, 1, 1, 1, 0])) == {0: 1, 1: 2, 2: 3, 3: 5}
    assert pair_by_similarity(same_kind([0, 0, 2, 2], [0, 2, 1, 2])) == {0: 0, 2: 1, 3: 3}


@given(st.lists(st.integers(0, 8), max_size=9))
def test_the_longest_increasing_subsequence_is_that_of_all_subsequences(numbers: list[int]) -> None:
    most = max(
        count
        for count in range(len(numbers) + 1)
        for some in combinations(numbers, count)
        if all(one < next for one, next in pairwise(some))
    )
    assert longest_increasing(numbers) == most


@given(st.randoms())
def test_steps_and_arguments_may_be_written_in_any_order(random: Random) -> None:
    steps = [dict(random.sample(list(one.items()), len(one))) for one in random.sample(PLAN, len(PLAN))]
    assert judged("plan_json", json.dumps(steps)).passed
    for category, truth in (("instruct_json", CALL), ("understand_json", STEP)):
        args = dict(random.sample(list(truth["args"].items()), 2))  # type: ignore[attr-defined]
        answer = {"goal": "", "thought": "", "name": CALL["action"], "args": args}
        assert judged(category, json.dumps(answer)).passed


@given(st.permutations(range(3)))
def test_a_plan_out_of_order_counts_as_far_as_its_order_agrees(order: list[int]) -> None:
    actions = [{"id": place, "name": f"Tool.{name}", "args": {}} for place, name in enumerate(order)]
    truth = [{"id": place, "name": f"Tool.{place}", "args": {}} for place in range(3)]
    assert judged("plan_json", json.dumps(actions), truth).score == pytest.approx(longest_increasing(order) / 3)


OVERLAPPING = {**dict.fromkeys(MARKS, ""), "thought_start": "ab", "action_start": "ba", "args_start": "aa"}
PATTERNS = [
    (
        MARKS,
        re.compile(r"goal:(.*)\nname:(.*)\nargs:(.*)", re.S),
        ["goal:", "name:", "args:", "\n", " ", "{'a': 1}", "x"],
    ),
    (OVERLAPPING, re.compile(r"ab(.*)ba(.*)aa(.*)", re.S), ["a", "b", "ab"]),
]


@given(
    st.sampled_from(PATTERNS).flatmap(
        lambda one: st.tuples(st.just(one), st.lists(st.sampled_from(one[2]), max_size=12))
    )
)
def test_a_call_in_text_is_read_as_a_greedy_pattern_reads_it(case: Any) -> None:
    (template, pattern, _), words = case
    templated, text = replace(entry("instruct_str"), template=template), "".join(words)
    known = pattern.findall(text)
    if not known:
        with pytest.raises(Unreadable):
            call_in_text(templated, text)
        return
    name, arguments = call_in_text(templated, text)
    assert (name, arguments) == (known[0][1].strip(), {"a": 1} if known[0][2].strip() == "{'a': 1}" else {})


def test_a_value_that_nests_deeper_than_32_is_none() -> None:
    assert value_in("[" * 32 + "1]" + "]" * 31)
    with pytest.raises(Unreadable):
        value_in("[" * 34 + "1]" + "]" * 33)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab'\"\\\n é{}[]"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab'\"", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("ab'\"", max_size=3), VALUES, max_size=3))
def test_what_is_written_as_json_or_python_is_read_back_whatever_stands_around_it(value: dict[str, Json]) -> None:
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)):
        assert value_in(written) == value
        assert value_in(f"Sure, here: {written} as you asked.", "{", "}") == value


@given(st.dictionaries(st.text("ab'\"é", max_size=3), VALUES, max_size=3), st.sampled_from(APIS))
def test_an_oracle_has_all_of_what_json_can_say(args: dict[str, Json], name: str) -> None:
    for category, truth in (
        ("instruct_json", {"action": name, "args": args}),
        ("plan_json", [{"id": 3, "name": name, "args": args}, {"id": 1, "name": "Clock.now", "args": {}}]),
        ("understand_json", {"thought": "", "name": name, "args": args}),
    ):
        spoken = RULES[category.partition("_")[0]].format_truth(entry(category, truth))
        assert judged(category, spoken, truth).passed


def test_the_api_that_is_named_first_is_the_action_and_of_two_at_one_place_the_one_listed_first() -> None:
    assert first_named("call FileOperation.write after FilmDouban.search", tuple(APIS)) == "FileOperation.write"
    assert first_named("FilmDouban.search_all", tuple(APIS)) == "FilmDouban.search"
    assert first_named("FilmDouban.search_all", tuple(reversed(APIS))) == "FilmDouban.search_all"
    assert first_named("Clock.now", tuple(APIS)) == ""
