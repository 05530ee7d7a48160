"""The update TRL makes of a batch of rollouts, told in its terms and made cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import pad
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from .grouped import group_logprobs
from .grpo_run import GRPORun
from .metrics import invalid, reward_of
from .sampler import Sample


class GroupedTrainer(GRPOTrainer):
    """TRL's trainer with a cheaper update, of the same gradient.

    A group's shared prompt is read once (see grouped.py), and without a KL term rollouts with no advantage are not
    read at all: with the dapo loss they add nothing to the gradient. The entropy it logs is that of the others.
    """

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        if self.beta == 0.0 and self.loss_type == "dapo":
            telling = (inputs["advantages"] != 0) & inputs["tool_mask"].any(1)
            telling[0] |= not telling.any()
            rows = len(telling)
            inputs = {
                name: part[telling] if isinstance(part, torch.Tensor) and part.shape[:1] == (rows,) else part
                for name, part in inputs.items()
            }
        return super()._compute_loss(model, inputs)

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *rest: Any, **more: Any
    ) -> tuple[Any, Any, None]:
        def runs(part: slice) -> list[list[int]]:
            ids, mask = input_ids[:, part], attention_mask[:, part].bool()
            return [row[kept].tolist() for row, kept in zip(ids, mask, strict=True)]

        prompts, completions = runs(slice(None, -logits_to_keep)), runs(slice(-logits_to_keep, None))
        plain = self.accelerator.unwrap_model(model)
        logprobs, entropy = group_logprobs(plain, prompts, completions, self.temperature)
        room = (0, logits_to_keep - logprobs.shape[1])
        return pad(logprobs, room), pad(entropy, room), None


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
