"""TRL's GRPO update: rollout batches in its format, a cheaper computation, and a choice of credit assignment."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import pad

from ..config.grpo import Credit, GRPORun
from ..config.sft import SupervisedRun
from ..policy.threads import unsplit_operations
from ..policy.trl_imports import GRPOConfig, GRPOTrainer
from ..rollout.generate import Sample
from .device import unwrap_lora
from .metrics import invalid, reward_of
from .reward_components import PARTS, parts_of, weights_of
from .shared_prefix_logprobs import group_logprobs
from .token_advantages import Choices, branch_advantages

PASS = 2_048  # completion tokens that a thread reads at once: its memory grows with them
WAITING = 6 * 3600  # seconds that processes wait for the first one, which evaluates


class NotFinite(Exception):
    """A loss, gradient or policy with numbers that are not finite; `step` is the step in which it occurred."""

    def __init__(self, what: str, step: int):
        super().__init__(f"the {what} of step {step} is not finite")
        self.what, self.step = what, step


def is_finite(model: Any) -> bool:
    """Return whether every trained weight of a model is a finite number."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return all(bool(torch.isfinite(weight).all()) for weight in trained)


class Trainer(GRPOTrainer):
    """TRL's trainer for any model, with a choice of credit assignment; it stops before a non-finite update.

    `choices` returns those of the latest generated batch.
    """

    def __init__(self, *, credit: Credit, choices: Callable[[], Sequence[Choices]], **rest: Any):
        super().__init__(**rest)
        self.credit, self.choices = credit, choices

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        """Return the whole batch of this process, unshuffled and unsplit: only here are groups together."""
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.credit == "branch":
            given = branch_advantages(self.choices(), batch["advantages"], self.num_generations)
            room = (0, batch["completion_ids"].shape[1] - given.shape[1])
            batch["advantages"] = pad(given, room).to(batch["advantages"].device)
        return batch

    def training_step(self, *given: Any, **more: Any) -> Any:
        loss = super().training_step(*given, **more)
        if not torch.isfinite(loss).all():  # the filter of TRL's log would hide it
            raise NotFinite("loss", self.state.global_step + 1)
        return loss

    def _clip_grad_norm(self, model: Any) -> Any:
        norm = super()._clip_grad_norm(model)
        if norm is not None and not torch.isfinite(torch.as_tensor(norm)).all():
            raise NotFinite("gradient", self.state.global_step + 1)
        return norm


class PrecomputedGradient(torch.autograd.Function):
    """A loss whose gradient with respect to some weights is known."""

    @staticmethod
    def forward(ctx: Any, loss: torch.Tensor, gradients: Sequence[torch.Tensor], *weights: torch.Tensor) -> Any:
        ctx.gradients = gradients
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        return None, None, *(outer[0] * gradient for gradient in ctx.gradients)


class GroupedTrainer(Trainer):
    """A trainer with a cheaper update of the same gradient, for models that shared_prefix_logprobs.py supports.

    A group's shared prompt is read once with each PASS tokens of its completions. Without a KL term, rollouts that are
    equal token for token are read once with the sum of their advantages, each only as far as its last token with an
    advantage, and each thread differentiates its own groups. With the dapo loss and one update per batch, the sum is
    the same gradient.
    """

    def __init__(self, **rest: Any):
        super().__init__(**rest)
        self.reading = threading.local()  # `wanted`: the tokens whose log-probabilities the loss needs, if not all

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        loss_of = super()._compute_loss
        if self.beta != 0.0 or self.loss_type != "dapo":
            return loss_of(model, inputs)
        spoken = inputs["tool_mask"] * inputs["completion_mask"]
        prompts = tokens(inputs, "prompt")
        advantages, read = merge_equal_rollouts(inputs["advantages"], prompts, tokens(inputs, "completion"), spoken)
        groups: dict[tuple[int, ...], list[int]] = {}
        for row in read.tolist():
            groups.setdefault(tuple(prompts[row]), []).append(row)
        lengths = inputs["completion_mask"].sum(1).tolist()
        parts = list(chain.from_iterable(portions(rows, lengths) for rows in groups.values()))
        weights = [weight for weight in model.parameters() if weight.requires_grad]

        def differentiate(rows: list[int]) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
            part = {
                name: value[rows] if isinstance(value, torch.Tensor) and value.shape[:1] == spoken.shape[:1] else value
                for name, value in (inputs | {"advantages": advantages}).items()
            }
            self.reading.wanted = spoken[rows] * (advantages[rows].reshape(len(rows), -1) != 0)
            loss = loss_of(model, part)
            return loss.detach(), torch.autograd.grad(loss, weights, materialize_grads=True)

        total, gradients = torch.zeros(()), [torch.zeros_like(weight) for weight in weights]
        with unsplit_operations() as threads, ThreadPoolExecutor(threads) as pool:
            for loss, summands in pool.map(
                differentiate, sorted(parts, key=lambda rows: -sum(lengths[i] for i in rows))
            ):
                total += loss
                torch._foreach_add_(gradients, summands)
        return PrecomputedGradient.apply(total, gradients, *weights)

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *rest: Any, **more: Any
    ) -> tuple[Any, Any, None]:
        """Return log-probabilities, and zeros for entropies.

        TRL only logs the entropies; ours are measured on the sampled tokens (see metrics.py).
        """
        cut = input_ids.shape[1] - logits_to_keep
        wanted = getattr(self.reading, "wanted", attention_mask[:, cut:])
        prompts, completions = (
            remove_padding(ids, mask)
            for ids, mask in zip(input_ids.tensor_split([cut], 1), attention_mask.tensor_split([cut], 1), strict=True)
        )
        bare = unwrap_lora(self.accelerator.unwrap_model(model))
        logprobs = group_logprobs(bare, prompts, completions, wanted, self.temperature)
        return logprobs, torch.zeros_like(logprobs), None


def portions(rows: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield portions of consecutive rows that have at most PASS tokens together."""
    portion, total = list[int](), 0
    for row in rows:
        if portion and total + lengths[row] > PASS:
            yield portion
            portion, total = [], 0
        portion.append(row)
        total += lengths[row]
    yield portion


def tokens(inputs: dict[str, Any], part: str) -> list[list[int]]:
    return remove_padding(inputs[f"{part}_ids"], inputs[f"{part}_mask"])


def remove_padding(ids: Any, mask: Any) -> list[list[int]]:
    return [row[mask_row].tolist() for row, mask_row in zip(ids, mask.bool(), strict=True)]


def merge_equal_rollouts(
    advantages: Any, prompts: list[list[int]], completions: list[list[int]], tool_mask: Any
) -> tuple[Any, Any]:
    """Return the advantages, summed over equal rollouts in the first of them, and the rows to read (at least one)."""
    total, first = advantages.clone(), dict[tuple[tuple[int, ...], ...], int]()
    for i, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        known = first.setdefault((tuple(prompt), tuple(completion), tuple(tool_mask[i].tolist())), i)
        if known != i:
            total[known] += advantages[i]
    read = torch.tensor(list(first.values()))
    nonzero = (total[read] != 0).reshape(len(read), -1).any(1) & tool_mask[read].any(1)
    return total, read[nonzero] if nonzero.any() else read[:1]


def as_batch(
    samples: Sequence[Sample],
    group: int,
    *,
    mask_truncated: bool = True,
    void: Callable[[Sequence[Sample]], bool] = invalid,
) -> dict[str, list[Any]]:
    """Return the batch for TRL.

    A void group has no reward and no token in the loss; a truncated rollout has a reward but no token in the loss.
    """
    voided = [void(samples[i - i % group : i - i % group + group]) for i in range(len(samples))]
    silent = [
        empty or (mask_truncated and one.rollout.end == "tokens") for empty, one in zip(voided, samples, strict=True)
    ]
    parts = [{} if empty else parts_of(one.rollout.reward) for empty, one in zip(voided, samples, strict=True)]
    return {
        "prompt_ids": [one.prompt_ids for one in samples],
        "completion_ids": [one.completion_ids for one in samples],
        "logprobs": [one.logprobs for one in samples],
        "env_mask": [
            [0] * len(one.env_mask) if mute else one.env_mask for mute, one in zip(silent, samples, strict=True)
        ],
        "total": [None if empty else reward_of(one) for empty, one in zip(voided, samples, strict=True)],
        **{name: [part.get(name) for part in parts] for name in PARTS},
    }


def column(name: str) -> Callable[..., list[float | None]]:
    """Return TRL's reward function for one column of the batch; rewards are scored during the rollout."""

    def reward(**columns: Any) -> list[float | None]:
        return list(columns[name])

    reward.__name__ = name
    return reward


def rewards(config: GRPORun) -> dict[str, float]:
    """Return the columns that the advantage is computed from, with their weights."""
    if config.normalise == "total":
        return {"total": 1.0}
    return {name: weight for name, weight in weights_of(config.reward).items() if weight}


def arguments(config: GRPORun, checkpoints: Path, device: str) -> GRPOConfig:
    """Return TRL's settings. There is one update per batch, so the updated policy is the one that generated it."""
    each = config.prompts * config.group // config.processes
    micro = config.micro_batch or each
    return GRPOConfig(
        output_dir=str(checkpoints),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=each // micro,
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
        multi_objective_aggregation="sum_then_normalize" if config.normalise == "total" else "normalize_then_sum",
        reward_weights=list(rewards(config).values()),
        max_grad_norm=config.max_grad_norm,
        adam_beta2=0.99,
        weight_decay=0.0,
        seed=config.seed,
        shuffle_dataset=False,
        logging_steps=1,
        save_strategy="steps",
        save_steps=config.checkpoint_every,
        use_cpu=device == "cpu",
        bf16=config.precision == "bf16",
        activation_checkpointing=config.gradient_checkpointing,
        use_vllm=config.backend == "vllm",
        vllm_mode=config.vllm_mode,
        ddp_backend="gloo" if device == "cpu" and config.processes > 1 else None,
        ddp_find_unused_parameters=False,
        ddp_timeout=WAITING,
        dataloader_pin_memory=False,
        report_to=[],
        disable_tqdm=True,
    )


def adapter(config: GRPORun | SupervisedRun) -> Any:
    """Return the LoRA settings (Hu et al. 2021) for all linear layers but the output; None for full training."""
    if not config.lora_rank:
        return None
    return lora(config.lora_rank, config.lora_alpha)


def lora(rank: int, alpha: int) -> Any:
    """Return the settings of an adapter on all linear layers but the output."""
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM")


def add_adapter(model: Any, rank: int, alpha: int = 32, seed: int = 0) -> Any:
    """Return the model with an adapter that changes nothing yet."""
    from peft import get_peft_model

    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # transformers warns about a name that peft uses
        return get_peft_model(model, lora(rank, alpha))
