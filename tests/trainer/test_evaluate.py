"""Evaluation: seeded and in order; a difference has an interval that tells gain from noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from training_worker.config.grpo import TokenLimits
from training_worker.core.trajectory import Example, Reward, Rollout
from training_worker.training import eval_config
from training_worker.training.evaluate import Rollouts, compare_policies, evaluate, table

from .double import Bank

LIMITS = TokenLimits(turn=40, completion=160)
rewards = st.lists(st.floats(-0.5, 1.3), min_size=3, max_size=12)


def scored(totals: list[float]) -> Rollouts:
    return [
        [Rollout(example=str(i), transcript=(), calls=(), end="answered", reward=Reward(total=total))]
        for i, total in enumerate(totals)
    ]


def test_rollouts_come_in_the_order_of_the_examples(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    found = evaluate(taught, tokenizer, examples, 2, limits=LIMITS, attempt=Bank)
    assert [[one.example for one in rollouts] for rollouts in found] == [[one.id] * 2 for one in examples]


def test_one_seed_gives_one_evaluation(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    first, again, other = (
        evaluate(taught, tokenizer, examples[:10], 2, 1.0, seed, limits=LIMITS, attempt=Bank) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_how_many_run_together_does_not_change_greedy_rollouts(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    few, many = (
        evaluate(taught, tokenizer, examples[:4], temperature=0.0, attempt=Bank, backend="transformers", together=size)
        for size in (1, 100)
    )
    assert [one[0].calls for one in few] == [one[0].calls for one in many]


def test_on_a_gpu_one_batch_has_many_more_rollouts_than_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    options = list[dict[str, Any]]()
    monkeypatch.setattr(eval_config, "evaluate", lambda *given, **how: options.append(how))
    for device in ("cpu", "cuda"):
        eval_config.EvaluationConfig(device, 90, TokenLimits()).rollouts(None, None, [])  # type: ignore[arg-type]
    assert "together" not in options[0] and options[1]["together"] > 10 * options[1]["rows"]


def test_a_table_has_a_line_per_chain_length_and_one_for_all(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    found = evaluate(taught, tokenizer, examples, limits=LIMITS, attempt=Bank)
    lines = table(examples, found)
    assert [(line.steps, line.examples) for line in lines] == [("0", 8), ("2", 32), ("all", 40)]
    totals = [one.reward.total for rollouts in found for one in rollouts if one.reward]
    assert lines[-1].means["reward"] == pytest.approx(sum(totals) / 40)


@given(rewards, st.floats(0.05, 0.5))
def test_the_same_gain_everywhere_is_certain(totals: list[float], gain: float) -> None:
    found = compare_policies(scored(totals), scored([total + gain for total in totals]))
    assert found.better and found.low == pytest.approx(gain) == found.difference


@given(rewards)
def test_no_policy_is_better_than_itself(totals: list[float]) -> None:
    found = compare_policies(scored(totals), scored(totals))
    assert not found.better and found.difference == 0


def test_noise_is_not_a_gain_and_its_interval_holds_the_difference() -> None:
    noise = torch.randn(50, generator=torch.Generator().manual_seed(0))
    found = compare_policies(scored([0.0] * 50), scored((noise - noise.mean()).tolist()))
    assert found.low < found.difference < found.high and not found.better


def test_an_example_without_a_valid_rollout_is_left_out() -> None:
    before, after = scored([0.5, 0.5, 0.5]), scored([0.6, 0.7, 9.0])
    after[2] = [replace(after[2][0], reward=None, failed_at="infrastructure")]
    assert compare_policies(before, after).examples == 2
