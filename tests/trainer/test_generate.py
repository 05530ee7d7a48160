"""The sampler: its log-probabilities are the trainer's, its limits hold, and greedy rollouts depend on nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from training_worker.config.grpo import TokenLimits
from training_worker.core.trajectory import Example
from training_worker.environment.episode import demonstration
from training_worker.policy.conversation import glue_ids
from training_worker.rollout.backends.scripted_policy import ScriptedBackend
from training_worker.rollout.generate import Sample, sample

from .double import Bank

LIMITS = TokenLimits(turn=40, completion=200)


def run(
    model: Any, tokenizer: PreTrainedTokenizerFast, examples: Sequence[Example], n: int = 1, **more: Any
) -> list[Sample]:
    return sample(model, tokenizer, examples, n, **{"limits": LIMITS, "attempt": Bank, **more})


@pytest.mark.parametrize("n", [1, 4])
def test_sampled_log_probabilities_are_those_of_a_plain_forward(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example], n: int
) -> None:
    samples = run(taught, tokenizer, examples[:6], n)
    assert any(one.env_mask[0] == 1 and 0 in one.env_mask and one.env_mask[-1] == 1 for one in samples), "several turns"
    for one in samples:
        ids = torch.tensor([one.prompt_ids + one.completion_ids])
        start = len(one.prompt_ids)
        with torch.no_grad():
            spread = torch.log_softmax(taught(input_ids=ids).logits[0], -1)[start - 1 : -1]
        plain = spread.gather(1, ids[0, start:, None])[:, 0]
        spoken = torch.tensor(one.env_mask).bool()
        assert torch.allclose(plain[spoken], torch.tensor(one.logprobs)[spoken], atol=1e-4)


def test_what_is_not_masked_is_what_the_transcript_says_the_model_said(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    for one in run(taught, tokenizer, examples[:8], 2):
        assert len(one.completion_ids) == len(one.env_mask) == len(one.logprobs)
        spoken = tokenizer.decode([id for id, mine in zip(one.completion_ids, one.env_mask, strict=True) if mine])
        said = [message.content for message in one.rollout.transcript if message.role == "assistant"]
        assert spoken.replace("<|im_end|>", "") == "".join(said)


def test_greedy_rollouts_do_not_depend_on_their_batch(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    together = run(taught, tokenizer, examples[:8], 3, temperature=0.0)
    for i, example in enumerate(examples[:8]):
        [alone] = run(taught, tokenizer, [example], temperature=0.0)
        assert {tuple(one.completion_ids) for one in together[3 * i : 3 * i + 3]} == {tuple(alone.completion_ids)}


def test_one_seed_gives_one_outcome(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    def ids(seed: int) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        return [one.completion_ids for one in run(taught, tokenizer, examples[:4], 4, generator=generator)]

    assert ids(1) == ids(1) != ids(2)


def test_uniform_logits_give_uniform_log_probabilities_and_end_at_the_limit(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    model.model.norm.weight.data.zero_()
    samples = run(model, tokenizer, examples[:3], 4, limits=TokenLimits(turn=5, completion=100))
    uniform = -torch.tensor(float(len(tokenizer))).log().item()
    assert all(value == pytest.approx(uniform) for one in samples for value in one.logprobs)
    cut = [one for one in samples if one.rollout.end == "tokens"]
    assert cut and all(len(one.completion_ids) == 5 for one in cut)


def test_a_cut_turn_runs_no_call(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    full, cut = (
        run(taught, tokenizer, examples[1:4], temperature=0.0, limits=TokenLimits(turn=turn, completion=100))
        for turn in (40, 4)
    )
    assert all(one.rollout.calls for one in full)
    assert [(one.rollout.end, one.rollout.calls) for one in cut] == [("tokens", ())] * 3


def test_no_completion_is_longer_than_its_limit(
    taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    samples = run(taught, tokenizer, examples[:8], 2, limits=TokenLimits(turn=60, completion=70))
    assert max(len(one.completion_ids) for one in samples) <= 70
    assert any(one.rollout.end == "tokens" and one.rollout.calls for one in samples), "no room for the next turn"


def test_a_policy_that_speaks_like_the_oracle_earns_everything(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    example = examples[1]
    script = iter([message.content for message in demonstration(example) if message.role == "assistant"])
    backend = ScriptedBackend(lambda messages, tools: next(script), tokenizer)
    [one] = run(model, tokenizer, [example], backend=backend)
    assert one.rollout.reward is not None and one.rollout.reward.total == pytest.approx(1.3)
    answers = [message for message in one.rollout.transcript if message.role == "tool"]
    assert tokenizer.decode(glue_ids(tokenizer, answers[:1])) in tokenizer.decode(one.completion_ids)
