"""The update TRL makes of a batch of rollouts, told in its terms, made cheaper, and with credit where it is due."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import pad
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from .credit import branch_advantages
from .grouped import group_logprobs
from .grpo_run import Credit, GRPORun
from .metrics import invalid, reward_of
from .sampler import Sample


class GroupedTrainer(GRPOTrainer):
    """TRL's trainer with a cheaper update of the same gradient, and with a choice of where credit goes (see credit.py).

    A group's shared prompt is read once (see grouped.py). Without a KL term, rollouts that are equal token for token
    are read once with the sum of their advantages, and those with no advantage not at all: with the dapo loss and one
    update a batch that is the same gradient. The entropy it logs is that of the rollouts it read.
    """

    def __init__(self, *, credit: Credit, **rest: Any):
        super().__init__(**rest)
        self.credit = credit

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        prompts, completions = tokens(inputs, "prompt"), tokens(inputs, "completion")
        advantages, rows = inputs["advantages"], len(prompts)
        if self.credit == "branch":
            advantages = branch_advantages(prompts, completions, advantages)
            advantages = pad(advantages, (0, inputs["completion_ids"].shape[1] - advantages.shape[1]))
        if self.beta == 0.0 and self.loss_type == "dapo":
            advantages, read = merged(advantages, prompts, completions, inputs["tool_mask"])
        else:
            read = torch.arange(rows)
        inputs = inputs | {"advantages": advantages}
        chosen = {
            name: part[read] if isinstance(part, torch.Tensor) and part.shape[:1] == (rows,) else part
            for name, part in inputs.items()
        }
        return super()._compute_loss(model, chosen)

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *rest: Any, **more: Any
    ) -> tuple[Any, Any, None]:
        cut = input_ids.shape[1] - logits_to_keep
        prompts, completions = (
            unpadded(ids, mask)
            for ids, mask in zip(input_ids.tensor_split([cut], 1), attention_mask.tensor_split([cut], 1), strict=True)
        )
        plain = self.accelerator.unwrap_model(model)
        logprobs, entropy = group_logprobs(plain, prompts, completions, self.temperature)
        room = (0, logits_to_keep - logprobs.shape[1])
        return pad(logprobs, room), pad(entropy, room), None


def tokens(inputs: dict[str, Any], part: str) -> list[list[int]]:
    return unpadded(inputs[f"{part}_ids"], inputs[f"{part}_mask"])


def unpadded(ids: Any, mask: Any) -> list[list[int]]:
    return [row[kept].tolist() for row, kept in zip(ids, mask.bool(), strict=True)]


def merged(advantages: Any, prompts: list[list[int]], completions: list[list[int]], tool_mask: Any) -> tuple[Any, Any]:
    """The advantages with those of equal rollouts summed in the first of them, and the rows to read (at least one)."""
    total, first = advantages.clone(), dict[tuple[int, ...], int]()
    for i, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        known = first.setdefault((*prompt, -1, *completion, -1, bool(tool_mask[i].any())), i)
        if known != i:
            total[known] += advantages[i]
    read = torch.tensor(list(first.values()))
    telling = (total[read] != 0).reshape(len(read), -1).any(1) & tool_mask[read].any(1)
    return total, read[telling] if telling.any() else read[:1]


def as_batch(samples: Sequence[Sample], group: int) -> dict[str, list[Any]]:
    """What TRL is told: an invalid group has no reward and no token in the loss; a truncated rollout only no token."""
    voided = [invalid(samples[i - i % group : i - i % group + group]) for i in range(len(samples))]
    silent = [void or one.rollout.end == "tokens" for void, one in zip(voided, samples, strict=True)]
    return {
        "prompt_ids": [one.prompt_ids for one in samples],
        "completion_ids": [one.completion_ids for one in samples],
        "logprobs": [one.logprobs for one in samples],
        "env_mask": [
            [0] * len(one.env_mask) if mute else one.env_mask for mute, one in zip(silent, samples, strict=True)
        ],
        "total": [None if void else reward_of(one) for void, one in zip(voided, samples, strict=True)],
    }


def totals(total: list[float | None], **rest: Any) -> list[float | None]:
    """TRL's reward function: the rewards were scored in the rollout."""
    return total


def arguments(config: GRPORun, checkpoints: Path) -> GRPOConfig:
    """One update a batch, so that the policy that is updated is the one that spoke."""
    return GRPOConfig(
        output_dir=str(checkpoints),
        per_device_train_batch_size=config.prompts * config.group,
        num_generations=config.group,
        max_completion_length=config.limits.completion,
        max_steps=config.max_steps,
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant",
        temperature=config.temperature,
        beta=config.beta,
        epsilon=config.clip_low,
        epsilon_high=config.clip_high,
        loss_type=config.loss,
        scale_rewards=config.scale_rewards,
        max_grad_norm=config.max_grad_norm,
        adam_beta2=0.99,
        weight_decay=0.0,
        seed=config.seed,
        shuffle_dataset=False,
        logging_steps=1,
        save_strategy="steps",
        save_steps=config.checkpoint_every,
        save_total_limit=2,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        report_to=[],
        disable_tqdm=True,
    )
