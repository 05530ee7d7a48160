"""Rules on curves and on rollouts: laws that hold for every curve, and a mutant for each pattern."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import ExecutedCall, Reward, Rollout, ToolCall, WorldRef
from training_worker.monitoring.alerts.patterns import patterns
from training_worker.monitoring.alerts.presets import PATTERNS, PRESETS
from training_worker.monitoring.alerts.rule_engine import (
    Aggregate,
    Comparison,
    Condition,
    episodes,
    measure_overfitting,
    score_steps,
)
from training_worker.monitoring.metrics import BY_NAME

numbers = st.floats(-4, 4).map(lambda value: round(value, 3))
curves = st.lists(st.one_of(numbers, numbers, st.none()), max_size=40).map(lambda values: list(enumerate(values, 1)))
conditions = st.builds(
    Condition,
    comparison=st.sampled_from(get_args(Comparison)),
    threshold=st.floats(-2, 2).map(lambda value: round(value, 2)),
    aggregate=st.sampled_from(get_args(Aggregate)),
    over=st.integers(1, 5),
    first=st.integers(1, 6),
)


@given(conditions, curves, st.integers(0, 40))
def test_what_is_said_of_a_step_depends_on_the_steps_up_to_it_alone(rule: Condition, curve: list, cut: int) -> None:
    full, begun = list(score_steps(rule, curve)), list(score_steps(rule, curve[:cut]))
    assert begun == full[: len(begun)]
    assert [one.first for one in episodes(rule, curve[:cut])] == [
        one.first for one in episodes(rule, curve) if one.first <= cut
    ]


@given(conditions, curves)
def test_a_rule_fires_once_until_it_clears(rule: Condition, curve: list) -> None:
    found = episodes(rule, curve)
    for one, following in pairwise(found):
        assert one.last is not None and one.first < one.last < following.first
    assert all(one.last is None or one.last > one.first for one in found)
    assert {one.first for one in found} | {one.last for one in found if one.last} <= {step for step, _ in curve}


@given(curves, st.floats(-2, 2), st.integers(1, 5))
def test_what_is_above_for_so_many_steps_in_a_row_is_no_more_often_than_once(
    curve: list, limit: float, over: int
) -> None:
    every = {one.step for one in score_steps(Condition("above", limit, "every", over), curve) if one.score > limit}
    once = {one.step for one in score_steps(Condition("above", limit), curve) if one.score > limit}
    assert every <= once
    points = [(step, value) for step, value in curve if value is not None]
    runs = {
        points[end][0]
        for end in range(over - 1, len(points))
        if all(v > limit for _, v in points[end - over + 1 : end + 1])
    }
    assert every == runs


@given(curves)
def test_no_number_fires_where_it_stands_and_clears_at_the_next_number(curve: list) -> None:
    found = episodes(Condition("not_finite"), curve)
    odd = [step for step, value in curve if value is None]
    assert [one.first for one in found] == [step for step in odd if step - 1 not in odd]
    assert all(one.last is None or curve[one.last - 1][1] is not None for one in found)


def test_it_clears_only_once_the_value_is_better_by_a_tenth_of_the_limit() -> None:
    curve = list(enumerate([0.4, 0.6, 0.49, 0.46, 0.45, 0.55], 1))
    assert [(one.first, one.value, one.last) for one in episodes(Condition("above", 0.5), curve)] == [
        (2, 0.6, 5),
        (6, 0.55, None),
    ]


def test_change_is_against_the_mean_of_the_first_steps_and_says_nothing_of_a_start_at_zero() -> None:
    curve = list(enumerate([100.0, 200.0, 150.0, 240.0, 60.0], 1))
    fired = {way: [one.first for one in episodes(Condition(way, 0.5, first=2), curve)] for way in get_args(Comparison)}
    assert (fired["risen"], fired["fallen"], fired["drifted"]) == ([4], [5], [4])
    assert episodes(Condition("risen", 0.1), [(1, 0.0), (2, 9.0)]) == []


def test_a_reward_that_falls_is_measured_against_its_best() -> None:
    curve = list(enumerate([0.2, 0.9, 0.8, 0.6, 0.9], 1))
    assert [(one.first, one.last) for one in episodes(Condition("dropped", 0.2), curve)] == [(4, 5)]


def test_overfitting_is_held_out_below_its_best_while_training_is_no_worse() -> None:
    training = [(step, step / 10) for step in range(1, 11)]
    looks = [(0, 0.2), (5, 0.6), (10, 0.5)]
    assert [round(value or 0, 3) for _, value in measure_overfitting(looks, training)] == [0, 0, 0.1]
    falling = [(step, 1 - step / 10) for step in range(1, 11)]
    assert measure_overfitting(looks, falling)[-1] == (10, 0.0)


def test_every_ready_made_rule_watches_something_that_there_is_and_says_what_to_do() -> None:
    for key, preset in PRESETS.items():
        source, name = preset.metric.split(".")
        known = {
            "points": name in BY_NAME,
            "patterns": name in PATTERNS,
            "derived": name in ("finite", "overfit"),
            "run": name in ("failed", "done", "silence", "disk"),
        }
        assert known[source] and preset.key == key and preset.means and preset.tries, key


WORLD = WorldRef(seed=5, servers=("filesystem",), size="small")
READ = ToolCall("list_accounts", {})


def rollout(*calls: ToolCall, reward: float = 0.5, level: int = 3, **parts: float) -> Rollout:
    made = tuple(ExecutedCall(call, level) for call in calls)
    return Rollout(example="one", transcript=(), calls=made, end="answered", reward=Reward(total=reward, **parts))


def found(*rollouts: Rollout, top: float = 1.3) -> dict[str, float]:
    return {name: one.share for name, one in patterns(rollouts, {"one": WORLD}, top).items()}


def test_a_call_made_three_times_is_a_repeat_and_other_arguments_are_not() -> None:
    other = [ToolCall("list_accounts", {"page": page}) for page in range(3)]
    assert found(rollout(READ, READ, READ), rollout(*other), rollout(READ, READ))["repeats"] == 1 / 3


def test_no_calls_count_only_where_some_were_due() -> None:
    abstains = replace(rollout(), reward=Reward(total=1.0, abstention=True))
    assert found(rollout(), rollout(READ), abstains)["idle"] == 0.5
    assert "idle" not in found(abstains)


def test_much_reward_is_unearned_unless_everything_was_done() -> None:
    done = rollout(READ, reward=1.3, validity=1, coverage=1, name=1, arguments=1)
    assert found(done, rollout(READ, reward=1.1, validity=1), rollout(READ, reward=0.9))["unearned"] == 1 / 3


def test_one_tool_dominates_by_its_share_of_all_calls_once_there_are_enough() -> None:
    many = [rollout(*[ToolCall(f"tool_{n}", {}) for n in range(5)]) for _ in range(3)]
    assert "dominant" not in found(*many)
    assert found(*many, rollout(*[READ] * 15))["dominant"] == 0.5


def test_a_rollout_without_a_reward_says_nothing() -> None:
    assert found(replace(rollout(READ, READ, READ), reward=None)) == {}


def test_a_write_that_is_taken_back_is_found_by_the_rows_it_leaves() -> None:
    file = {"file": "kitchen_convert_2.sh"}
    make, remove = ToolCall("lock_file", file), ToolCall("unlock_file", file)
    other = ToolCall("create_directory", {"path": "yy"})
    look = ToolCall("list_directory", {})
    rollouts = [rollout(make, look, remove), rollout(make, other), rollout(make), rollout(other, make, remove)]
    finding = patterns(rollouts, {"one": WORLD}, 1.3)["undone"]
    assert finding.share == 0.5
    why = "unlock_file undid lock_file"
    assert [(one.index, one.why) for one in finding.shown] == [(1, why), (4, why)]


def test_a_write_that_changes_nothing_takes_nothing_back() -> None:
    enter = ToolCall("change_directory", {"directory": "notes"})
    stay = ToolCall("change_directory", {"directory": "."})
    assert found(rollout(enter, stay, stay))["undone"] == 0


def test_writes_of_a_world_that_is_not_known_are_not_made_again() -> None:
    make = ToolCall("create_directory", {"path": "zz"})
    assert patterns([rollout(make, make)], {}, 1.3)["undone"].share == 0
