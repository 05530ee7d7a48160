"""A step's metrics: what rollouts say when their world is known by hand, and where their seconds went."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from training_worker.config.grpo import TokenLimits
from training_worker.core.trajectory import Example, ExecutedCall, Reward, Rollout, ToolCall
from training_worker.environment.episode import Attempt, oracle
from training_worker.monitoring.metrics import BY_NAME, TERMS, TOOLS
from training_worker.reward import RewardConfig
from training_worker.reward.success import is_success
from training_worker.rollout.generate import Sample
from training_worker.rollout.generate import sample as spoken
from training_worker.training.grpo_callback import Machine
from training_worker.training.metrics import (
    COMPONENTS,
    MALFORMED,
    NOT_OFFERED,
    batch_metrics,
    outcome_means,
    update_metrics,
)
from training_worker.training.step_timing import add_step_timing, compute_rollout_metrics

from .double import Bank
from .worlds import conversations

PERFECT = {"validity": 1.0, "coverage": 1.0, "name": 1.0, "arguments": 1.0}
totals = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.3]), min_size=2, max_size=24).filter(
    lambda them: not len(them) % 2
)


def rollout(total: float | None, calls: Sequence[ExecutedCall] = (), **rest: object) -> Rollout:
    reward = None if total is None else Reward(total=total, **(PERFECT if total == 1.3 else {}))
    void = {} if reward else {"end": "infrastructure", "failed_at": "environment"}
    made = Rollout(example="one", transcript=(), calls=tuple(calls), end="answered", reward=reward)
    return replace(made, **void, **rest)  # type: ignore[arg-type]


def sample(rollout: Rollout, model: int = 2, heard: int = 1) -> Sample:
    mask = [1] * model + [0] * heard
    return Sample([1, 2, 3], mask, mask, [0.0] * len(mask), rollout)


def call(name: str, level: int, arguments: dict[str, object] | None = None) -> ExecutedCall:
    return ExecutedCall(ToolCall(name, arguments), level)


@given(totals)
def test_least_mean_and_most_reward_lie_in_order_and_success_counts_the_perfect(values: list[float]) -> None:
    metrics = batch_metrics([sample(rollout(value)) for value in values], 2)
    assert metrics["reward_min"] <= metrics["reward"] + 1e-12 and metrics["reward"] <= metrics["reward_max"] + 1e-12
    assert 0 <= metrics["reward_std"] <= metrics["reward_deviation"] + 1e-12
    assert metrics["success"] == pytest.approx(values.count(1.3) / len(values))


@given(totals)
def test_tokens_of_dead_groups_are_those_of_groups_without_spread(values: list[float]) -> None:
    samples = [sample(rollout(value), model=1 + i) for i, value in enumerate(values)]
    metrics, pairs = batch_metrics(samples, 2), [samples[i : i + 2] for i in range(0, len(samples), 2)]
    lost = [one for pair in pairs for one in pair if pair[0].rollout.reward == pair[1].rollout.reward]
    sizes = [sum(len(one.completion_ids) for one in part) for part in (lost, samples)]
    assert metrics["dead_tokens"] == pytest.approx(sizes[0] / sizes[1])


def test_an_invalid_group_is_dead_and_says_where_it_failed() -> None:
    metrics = batch_metrics([sample(rollout(total)) for total in (None, 1.3, 0.5, 1.3)], 2)
    assert (metrics["invalid_groups"], metrics["dead_tokens"], metrics["rollouts"]) == (1, 0.5, 4)
    assert (metrics["failed_environment"], metrics["end_infrastructure"], metrics["end_answered"]) == (0.25, 0.25, 0.75)
    assert metrics["reward"] == pytest.approx(0.9)


def test_calls_are_counted_by_tool_and_what_is_no_tool_by_what_is_wrong_with_it() -> None:
    calls = [call("a", 3, {}), call("a", 2, {}), call("b", 3, {}), call("made_up", 0, {}), call("", 0)]
    metrics = batch_metrics([sample(rollout(0.5, calls)), sample(rollout(0.6))], 2)
    assert metrics[TOOLS] == {MALFORMED: [1, 1], NOT_OFFERED: [1, 1], "a": [2, 1], "b": [1, 0]}
    assert (metrics["calls"], metrics["tool_failures"], metrics["malformed"]) == (2.5, 0.6, 0.2)


def test_abstention_has_its_own_mean_and_is_left_out_where_there_is_none() -> None:
    quiet = rollout(1.0)
    quiet = replace(quiet, reward=Reward(total=1.0, abstention=True))
    assert outcome_means([quiet, rollout(0.5)]) == {
        **dict.fromkeys(COMPONENTS, 0.0),
        **{"reward": 0.75, "success": 0.5, "graded": 0.5, "abstention": 1.0},
    }
    assert "abstention" not in outcome_means([rollout(0.5)]) and "graded" not in outcome_means([quiet])


def test_the_oracle_succeeds_and_one_call_too_many_in_vain_does_not() -> None:
    for example in conversations():
        perfect = oracle(example)
        assert perfect.reward and is_success(perfect.reward)
        worse = Attempt(example)
        for text in ('<tool_call>\n{"name": "made_up", "arguments": {}}\n</tool_call>', "Done.", "Done.", "Done."):
            worse.over or worse.answer(text)
        found = worse.finish().reward
        assert found and not is_success(found)


def test_goal_success_and_act_accuracy_are_means_over_the_rollouts_that_have_them() -> None:
    done = replace(rollout(0.5), goal_success=True, acts=(("call", "call"), ("ask", "text")))
    missed = replace(rollout(0.5), goal_success=False, acts=(("text", "text"),))
    metrics = outcome_means([done, missed, rollout(1.3)])
    assert (metrics["goal_success"], metrics["act_accuracy"]) == (0.5, pytest.approx(2 / 3))
    assert not {"goal_success", "act_accuracy"} & outcome_means([rollout(1.3)]).keys(), "unknown is not 0"


def test_what_is_not_environment_and_not_reward_is_generation() -> None:
    samples = [replace(sample(rollout(0.5)), environment_s=1.5, reward_s=0.25) for _ in range(2)]
    metrics = add_step_timing(compute_rollout_metrics(samples, 2, 8.0), 10.0, 100.0)
    assert (metrics["environment_s"], metrics["reward_s"], metrics["generation_s"]) == (3.0, 0.5, 4.5)
    assert (metrics["update_s"], metrics["elapsed_s"], metrics["dead_s"]) == (2.0, 100.0, 8.0)
    assert (metrics["environment_share"], metrics["total_per_s"]) == (0.35, 2 * 6 / 10)
    assert metrics.keys() - {TOOLS} <= BY_NAME.keys()
    assert compute_rollout_metrics(samples, 2, 8.0, processes=2)["generation_s"] == 8.0 - 1.5 - 0.25


def test_rollouts_tell_the_seconds_spent_in_their_worlds_and_on_their_score(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    made = spoken(taught, tokenizer, examples[:2], 2, limits=TokenLimits(turn=20, completion=40), attempt=Bank)
    assert all(one.environment_s > 0 and one.reward_s > 0 for one in made)


def test_the_terms_of_another_form_are_reported_by_their_names() -> None:
    for form in ("graduated", "trace_state", "final_state"):
        config = RewardConfig(form=form, provenance=0.1, repeats=0.1)  # type: ignore[arg-type]
        attempt = Attempt(conversations()[0], reward=config)
        attempt.answer("Done.")
        terms = outcome_means([attempt.finish()]).keys() - outcome_means([oracle(conversations()[0])]).keys()
        assert terms and terms <= {term.name for term in TERMS}


def test_the_machine_is_read_in_its_units() -> None:
    machine = Machine()
    until = time.process_time() + 0.1  # of the process's own time, which systems count in hundredths
    while time.process_time() < until:
        pass
    reading = machine.read_usage()
    assert reading["cpu_process"] > 0 and reading["memory"] > 10
    assert 0 <= reading["cpu_machine"] <= 1 and 0 < reading["memory_machine"] < 1


def test_kl_is_reported_only_where_there_is_one() -> None:
    logs = {"loss": 0.1, "grad_norm": 2.0, "clip_ratio/low_mean": 0.1, "clip_ratio/region_mean": 0.3}
    assert update_metrics(logs) == {"loss": 0.1, "grad_norm": 2.0, "clipped_low": 0.1, "clipped": 0.3}
    assert update_metrics({**logs, "kl": 0.01})["kl"] == 0.01
