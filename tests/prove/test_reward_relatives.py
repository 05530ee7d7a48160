"""The equations of PROVE's close relatives: worked cases by hand, and the laws they obey."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import ExecutedCall, Step, ToolCall
from training_worker.reward.atomic import ast, atomic
from training_worker.reward.excess_calls import surplus, unparseable
from training_worker.reward.orchestration import orchestration
from training_worker.reward.repeats import repeats
from training_worker.reward.trace import assign, trace

names = st.sampled_from(["look", "pay", "tell"])
arguments = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2) | st.sampled_from(["x", "y"]), max_size=3)
tool_calls = st.builds(ToolCall, names, arguments)
steps_of = st.lists(st.builds(Step, st.lists(tool_calls, min_size=1, max_size=2).map(tuple)), min_size=1, max_size=4)
MALFORMED = ExecutedCall(ToolCall("", None), 0)
executed = st.builds(ExecutedCall, tool_calls, st.integers(1, 3)) | st.just(MALFORMED)
rollouts = st.lists(executed, max_size=8)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[list[Step], list[tuple[int, int]]]:
    steps = draw(steps_of)
    pairs = [(j, g) for g in range(len(steps)) for j in range(g)]
    return steps, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


def done(*calls: ToolCall, level: int = 3) -> list[ExecutedCall]:
    return [ExecutedCall(call, level) for call in calls]


def oracle(steps: list[Step]) -> list[ExecutedCall]:
    return [made for step in steps for made in done(*step.calls)]


def step(*calls: ToolCall) -> Step:
    return Step(calls)


PAY = ToolCall("pay", {"to": "x", "cents": 5, "memo": "y", "on": 1})
LOOK = ToolCall("look", {})


@pytest.mark.parametrize(
    ("given", "worth"),
    [
        ({"to": "x", "cents": 5, "memo": "y", "on": 1}, 1.0),
        ({"to": "x", "cents": 5.0, "memo": "y", "on": 1}, 1.0),
        ({"to": "x", "cents": 6, "memo": "y", "on": 1}, 0.33 + 0.33),
        ({"to": "x", "cents": "5", "memo": "y"}, 0.33 + 0.33 * (3 / 4) * (2 / 3)),
        ({"to": "x", "cents": True, "memo": "y", "on": 1}, 0.33 + 0.33 * 3 / 4),
        ({"to": "x", "cents": 5, "memo": "y", "on": 1, "more": 1}, 0.33 + 0.33),
        ({}, 0.33),
    ],
)
def test_a_call_with_the_right_name_earns_by_parameters_types_and_values(given: Any, worth: float) -> None:
    assert ast(PAY.arguments or {}, given) == pytest.approx(worth)


def test_a_tool_without_parameters_is_called_right_without_any() -> None:
    assert ast({}, {}) == pytest.approx(1.0) and ast({}, {"a": 1}) == pytest.approx(0.33)


def test_a_call_earns_half_by_its_form_and_half_by_its_success() -> None:
    other = ToolCall("tell", {})
    for calls, worth in [
        (done(PAY), 1.0),
        (done(PAY, level=2), 0.5),
        (done(other), 0.0),
        ([MALFORMED], 0.0),
        ([*done(PAY), *done(other)], 0.5),
        ([], 0.0),
    ]:
        assert atomic([step(PAY)], calls) == pytest.approx(worth)


def test_a_call_is_held_against_the_ground_truth_call_that_makes_most_of_it() -> None:
    twice = [step(ToolCall("pay", {"cents": 1})), step(ToolCall("pay", {"cents": 2}))]
    assert atomic(twice, done(ToolCall("pay", {"cents": 2}))) == pytest.approx(1.0)


def test_steps_count_when_they_are_called_for_after_all_they_need() -> None:
    steps, edges = [step(LOOK), step(PAY), step(ToolCall("tell", {}))], [(0, 1), (1, 2)]
    tell = ToolCall("tell", {"a": 1})
    for calls, share in [
        ([LOOK, PAY, tell], 1.0),
        ([LOOK, tell, PAY], 2 / 3),
        ([PAY, LOOK, tell], 1 / 3),
        ([tell, PAY, LOOK], 1 / 3),
        ([PAY, tell], 0.0),
        ([tell, LOOK, PAY, tell], 1.0),
        ([], 0.0),
    ]:
        assert orchestration(steps, edges, done(*calls, level=1)) == pytest.approx(share)


def test_a_parallel_step_is_where_the_last_of_its_calls_is() -> None:
    steps, edges = [step(LOOK, PAY), step(ToolCall("tell", {}))], [(0, 1)]
    tell = ToolCall("tell", {})
    assert orchestration(steps, edges, done(LOOK, tell, PAY)) == 0.5
    assert orchestration(steps, edges, done(PAY, LOOK, tell)) == 1.0
    assert orchestration(steps, edges, done(LOOK, tell)) == 0.0


def test_a_call_does_not_come_after_itself() -> None:
    again, edges = [step(LOOK), step(LOOK)], [(0, 1)]
    assert orchestration(again, edges, done(LOOK)) == 0.5 and orchestration(again, edges, done(LOOK, LOOK)) == 1.0
    assert orchestration(again, [], done(LOOK)) == 1.0


def test_steps_that_need_each_other_are_never_matched() -> None:
    assert orchestration([step(LOOK), step(PAY)], [(0, 1), (1, 0)], done(LOOK, PAY, LOOK, PAY)) == 0.0


def test_every_call_of_the_ground_truth_needs_one_of_its_own_in_any_order() -> None:
    steps = [step(ToolCall("pay", {"cents": 1})), step(ToolCall("pay", {"cents": 1}), LOOK)]
    one = ToolCall("pay", {"cents": 1})
    for calls, expected in [
        ([LOOK, one, one], 1),
        ([LOOK, one], 0),
        ([one, one], 0),
        ([one, LOOK, one, PAY], 1),
        ([], 0),
    ]:
        assert trace(steps, done(*calls)) == expected
    assert trace(steps, done(LOOK, one, one, level=0)) == 0


@pytest.mark.parametrize(("cents", "expected"), [(5.0000009, 1), (5.000002, 0), ("5", 0), (True, 0), (10**400, 0)])
def test_numbers_of_the_trace_are_equal_within_a_millionth(cents: Any, expected: int) -> None:
    given = ToolCall("pay", {**(PAY.arguments or {}), "cents": cents})
    assert trace([step(PAY)], done(given)) == expected
    nested = (ToolCall("pay", {"all": [{"cents": one}]}) for one in (5, cents))
    assert trace([step(next(nested))], done(next(nested))) == expected


def test_an_argument_with_an_id_that_is_dont_care_may_be_any_but_must_be_there() -> None:
    truth = [step(ToolCall("invite", {"event": "EVT-1", "who": ["a", "EVT-1"], "at": 3}))]
    for written, expected in [
        ({"event": "EVT-9", "who": "b", "at": 3}, 1),
        ({"event": "EVT-9", "who": "b", "at": 4}, 0),
        ({"event": "EVT-9", "at": 3}, 0),
    ]:
        assert trace(truth, done(ToolCall("invite", written)), {"EVT-1"}) == expected
        assert trace(truth, done(ToolCall("invite", written))) == 0


@given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=4), max_size=5))
def test_everyone_gets_a_choice_exactly_when_no_few_share_fewer_choices(choices: list[list[int]]) -> None:
    """Hall's theorem."""
    subsets = [[one for at, one in enumerate(choices) if bits >> at & 1] for bits in range(2 ** len(choices))]
    assert assign(choices) == all(len(set().union(*some)) >= len(some) for some in subsets)


@given(rollouts, st.integers(1, 6))
def test_calls_too_many_and_calls_unread_cost_a_twentieth_each_and_half_at_most(
    calls: list[ExecutedCall], n_gt: int
) -> None:
    read = sum(made.call.arguments is not None for made in calls)
    assert surplus(n_gt, calls) == pytest.approx(0.05 * max(0, read - n_gt))
    assert unparseable(calls) == pytest.approx(0.05 * (len(calls) - read))
    assert surplus(n_gt, done(*[LOOK] * 60)) == unparseable([MALFORMED] * 60) == 0.5


def test_a_call_is_a_repeat_when_it_was_made_before_and_the_ground_truth_does_not_make_it_again() -> None:
    again = ToolCall("look", {"b": 1, "a": 2})
    turned = ToolCall("look", {"a": 2, "b": 1})
    assert repeats([step(PAY)], done(again, turned, LOOK, LOOK, LOOK)) == pytest.approx(3 / 5)
    assert repeats([step(again), step(turned)], done(again, turned, PAY)) == 0
    assert repeats([step(again), step(turned)], done(again, again, again)) == pytest.approx(1 / 3)
    assert repeats([step(PAY)], [MALFORMED, MALFORMED]) == repeats([step(PAY)], []) == 0


@given(tasks())
def test_the_oracle_earns_the_most_there_is_of_every_term(task: tuple[list[Step], list[tuple[int, int]]]) -> None:
    steps, edges = task
    calls = oracle(steps)
    assert atomic(steps, calls) == pytest.approx(1) and orchestration(steps, edges, calls) == 1
    assert trace(steps, calls) == 1 and repeats(steps, calls) == 0
    assert surplus(len(calls), calls) == unparseable(calls) == 0


@given(tasks(), rollouts, executed)
def test_terms_keep_their_range_and_one_more_call_only_helps_the_order_and_the_trace(
    task: tuple[list[Step], list[tuple[int, int]]], calls: list[ExecutedCall], more: ExecutedCall
) -> None:
    steps, edges = task
    n_gt = sum(len(step.calls) for step in steps)
    for term in (atomic(steps, calls), orchestration(steps, edges, calls), repeats(steps, calls)):
        assert 0 <= term <= 1
    assert orchestration(steps, edges, [*calls, more]) >= orchestration(steps, edges, calls)
    assert trace(steps, [*calls, more]) >= trace(steps, calls)
    assert surplus(n_gt, [*calls, more]) >= surplus(n_gt, calls)
    assert repeats(steps, [*calls, *calls]) >= repeats(steps, calls)


@given(tasks(), rollouts)
def test_a_call_that_fails_never_earns_more_than_if_it_had_succeeded(
    task: tuple[list[Step], list[tuple[int, int]]], calls: list[ExecutedCall]
) -> None:
    steps, _ = task
    failed = [replace(made, level=min(made.level, 2)) for made in calls]
    assert atomic(steps, failed) <= atomic(steps, calls)


@given(tasks(), st.permutations(range(8)))
def test_the_trace_does_not_know_an_order(task: tuple[list[Step], list[tuple[int, int]]], order: list[int]) -> None:
    steps, _ = task
    calls = oracle(steps)
    assert trace(steps, [calls[at] for at in order if at < len(calls)]) == (len(calls) <= 8)
