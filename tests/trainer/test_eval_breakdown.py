"""Slices of an evaluation: every example is found in them, and success is counted as it was defined."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from math import isclose
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import Example, Reward, Rollout
from training_worker.environment.episode import Attempt, oracle
from training_worker.training.eval_breakdown import (
    ALWAYS,
    CUTS,
    LEAST,
    PARTS,
    compare_slices,
    cut,
    pass_hat,
    state_reached,
    summarize_slices,
)
from training_worker.training.evaluate import Rollouts

from .worlds import conversations

verdicts = st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=8)


def rolled(success: bool) -> Rollout:
    reward = Reward(total=float(success), abstention=True)
    return Rollout(example="one", transcript=(), calls=(), end="answered", reward=reward)


def silent(example: Example) -> Rollout:
    attempt = Attempt(example)
    while not attempt.over:
        attempt.answer("No.")
    return attempt.finish()


def sides() -> tuple[Rollouts, Rollouts]:
    return [[silent(one)] * 4 for one in conversations()], [[oracle(one)] * 4 for one in conversations()]


@given(verdicts, st.integers(1, 4))
def test_pass_hat_k_is_the_share_of_all_draws_of_k_rollouts_that_succeed_throughout(
    found: list[list[bool]], k: int
) -> None:
    draws = [[all(chosen) for chosen in combinations(each, k)] for each in found if len(each) >= k]
    expected = [sum(drawn) / len(drawn) for drawn in draws]
    passed = pass_hat([[rolled(success) for success in each] for each in found], k)
    assert (passed is None) == (not expected)
    assert passed is None or isclose(passed, sum(expected) / len(expected))


@given(verdicts)
def test_more_tries_never_pass_more_often(found: list[list[bool]]) -> None:
    full = [(each * 5)[:5] for each in found]
    passed = [pass_hat([[rolled(success) for success in each] for each in full], k) for k in (1, 2, 4)]
    assert passed == sorted(passed, reverse=True)  # type: ignore[type-var]


def test_a_rollout_that_failed_for_no_fault_of_the_policy_is_no_try() -> None:
    void = replace(rolled(False), reward=None, failed_at="infrastructure")
    assert pass_hat([[rolled(True), void]], 1) == 1.0
    assert pass_hat([[rolled(True), void]], 2) is None


def test_every_example_lies_in_a_slice_of_every_cut_and_no_knob_makes_one_slice() -> None:
    found = cut(conversations())
    for by in CUTS:
        slices = {name: places for (which, name), places in found.items() if which == by}
        if slices:
            assert {place for places in slices.values() for place in places} == set(range(len(conversations())))
        assert len(slices) != 1 or by in ALWAYS
    assert {by for by, _ in found} == CUTS.keys(), "these conversations have all knobs turned"
    lengths = [name for by, name in found if by == "length"]
    assert lengths == sorted(lengths, key=int)


def test_the_oracle_reaches_every_final_state_and_silence_hardly_any() -> None:
    before, after = sides()
    assert state_reached(conversations(), after) == 1.0
    assert state_reached(conversations(), before) < 0.2, "of the conversations that only look"
    assert state_reached([], []) is None


def test_before_and_after_are_compared_in_every_slice_with_an_interval_where_there_are_enough() -> None:
    before, after = sides()
    slices = compare_slices(conversations(), {"sampled": (before, after), "greedy": (before, after)})
    assert (slices[0]["by"], slices[0]["examples"]) == ("all", len(conversations()))
    assert len(json.dumps(slices)) < 40_000
    for one in slices:
        sampled = one["sampled"]
        assert len(sampled["before"]) == len(PARTS) == len(sampled["after"])
        assert sampled["after"][-1] == 1.0 == sampled["pass_4"][1]
        change, low, high = sampled["reward"]
        assert change == pytest.approx(sampled["after"][0] - sampled["before"][0], abs=1e-4)
        assert (low is None) == (one["examples"] < LEAST)
        assert low is None or low - 1e-6 <= change <= high + 1e-6
        assert sampled["goal_success"][1] == 1.0
    assert slices[0]["sampled"]["goal_success"][0] == pytest.approx(mean_abstention(), abs=1e-4), (
        "silence is right there"
    )


def mean_abstention() -> float:
    return fmean(example.abstains for example in conversations())


def test_what_was_measured_before_goals_has_none() -> None:
    bare = [[replace(oracle(one), goal_success=None, acts=())] for one in conversations()]
    new = [[oracle(one)] for one in conversations()]
    slices = compare_slices(conversations(), {"greedy": (bare, new)})
    assert all(not {"goal_success", "act_accuracy"} & one["greedy"].keys() for one in slices)
    assert {len(line) for line in summarize_slices(conversations(), bare)} == {5}


def test_what_is_reported_in_the_middle_of_a_run_fits_in_a_line() -> None:
    lines = summarize_slices(conversations(), [[oracle(one)] for one in conversations()])
    assert len(json.dumps(lines)) < 4_000
    assert all((success, goal) == (1.0, 1.0) for *_, success, goal in lines)
