"""The outcome of a call: one word for each, by what failed first."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Evidence, Example, ExecutedCall, Rollout, ToolCall
from training_worker.environment.episode import Attempt, oracle
from training_worker.environment.outcomes import MEANING, OUTCOMES, list_uncalled_tools, outcome, outcomes

MADE = ToolCall("pay", {})
DONE = Evidence(0, 3, True, 0, True, 1.0)
BEHIND = [DONE, replace(DONE, step=None), None]


def refusal(code: str) -> str:
    return json.dumps({"error": code, "message": "No."})


def played(example: Example, *calls: ToolCall) -> Rollout:
    attempt = Attempt(example)
    for call in calls:
        attempt.answer(write_calls([call]))
    return attempt.finish()


@given(
    level=st.integers(0, 3),
    observation=st.text(max_size=9) | st.sampled_from(["[1]", "{}", '{"error": 3}', "[" * 9_999]),
    evidence=st.none()
    | st.builds(
        Evidence,
        st.just(0),
        st.integers(0, 3),
        st.booleans(),
        st.none() | st.integers(0, 3),
        st.booleans(),
        st.just(0.5),
        st.lists(st.just("x"), max_size=1).map(tuple),
    ),
)
def test_every_call_has_one_outcome_and_only_one_that_ran_is_judged_by_the_ground_truth(
    level: int, observation: str, evidence: Evidence | None
) -> None:
    found = outcome(ExecutedCall(MADE, level, observation), evidence)
    assert found in OUTCOMES and found != "untried"
    assert (found in {"succeeded", "order", "arguments"}) == (level == 3)


@pytest.mark.parametrize(
    ("level", "observation", "evidence", "expected"),
    [
        (0, "", None, "schema"),
        (1, "", DONE, "schema"),
        (2, refusal("invalid_arguments"), DONE, "schema"),
        (2, refusal("insufficient_funds"), DONE, "state"),
        (2, refusal("not_found"), None, "state"),
        (3, "{}", DONE, "succeeded"),
        (3, "{}", replace(DONE, step=None, in_order=None), "succeeded"),
        (3, "{}", replace(DONE, in_order=False, wrong_arguments=("to",)), "order"),
        (3, "{}", replace(DONE, wrong_arguments=("to",)), "arguments"),
    ],
)
def test_what_failed_first_is_what_is_said(
    level: int, observation: str, evidence: Evidence | None, expected: str
) -> None:
    assert outcome(ExecutedCall(MADE, level, observation), evidence) == expected


def test_the_oracle_succeeds_with_every_call(chains: list[Example]) -> None:
    for each in chains[:20]:
        made = oracle(each)
        assert outcomes(made) == ("succeeded",) * len(made.calls)
        assert (
            list_uncalled_tools(
                (call.name for step in each.steps for call in step.calls), [c.call.name for c in made.calls]
            )
            == ()
        )


def test_a_real_world_tells_schema_from_state(chains: list[Example], calls_of: Callable[..., list[ToolCall]]) -> None:
    found = next(one for one in chains if any(call.arguments for call in calls_of(one)))
    right = next(call for call in calls_of(found) if call.arguments)
    extra = replace(right, arguments={**(right.arguments or {}), "no_such_argument": 1})
    made = played(found, ToolCall("no_such_tool", {}), ToolCall(right.name, None), extra)
    assert outcomes(made) == ("schema",) * 3


def test_a_rollout_that_failed_for_no_fault_of_the_policy_says_nothing(chains: list[Example]) -> None:
    broken = replace(oracle(chains[0]), reward=None, failed_at="environment", end="infrastructure")
    assert outcomes(broken) == ()


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_untried_is_what_is_needed_less_what_was_called(needed: list[str], called: list[str]) -> None:
    found = list_uncalled_tools(needed, called)
    assert set(found) == set(needed) - set(called) and len(set(found)) == len(found)


def test_every_outcome_has_a_meaning_in_words() -> None:
    assert set(MEANING) == set(OUTCOMES)
