"""The settings of a GRPO run with their defaults, and what a job sets otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from ..reward import PAPER, RewardConfig

Credit = Literal["rollout", "branch"]  # see training/token_advantages.py
KeepTokens = Literal["none", "last", "all"]  # the steps whose tokens are kept
Trainable = Literal["all", "final_norm"]  # all weights, or the gains of the norm before the output
ZeroVariance = Literal["keep", "drop", "resample"]  # see training/dynamic_sampling.py
JOB_DEFAULTS = {"decay": 0.3}  # of a run that the site launches, where they differ from those of GRPORun


@dataclass(frozen=True)
class TokenLimits:
    """Limits on the model's tokens per turn, and on the tokens of all turns with the messages between them.

    `observation` is the maximum number of tokens shown of an observation; 0 applies only the limit in characters.
    """

    turn: int = 160
    completion: int = 1024
    observation: int = 0


@dataclass(frozen=True, kw_only=True)
class GRPORun:
    """One GRPO run. It ends after `max_steps` or `minutes` of training, whichever comes first, across resumes.

    `decay` is the share of the run, at its end, over which the learning rate falls linearly to a tenth. `micro_batch`
    is the number of rollouts in one forward and backward pass; 0 takes all rollouts of a process. `keep_tokens` selects
    the steps whose tokens and log-probabilities are stored with the rollouts: none, the last, or all. `trainable`
    `final_norm` trains only the gains of the norm before the output, which scale the logits.
    """

    policy: Path
    data: Path
    out: Path
    prompts: int = 8
    group: int = 8
    learning_rate: float = 2e-4
    warmup_steps: int = 3
    decay: float = 0.0
    temperature: float = 1.0
    beta: float = 0.0
    clip_low: float = 0.2
    clip_high: float = 0.28
    loss: Literal["dapo", "dr_grpo", "grpo", "bnpo"] = "dapo"
    credit: Credit = "branch"
    scale_rewards: Literal["group", "batch", "none"] = "none"
    normalise: Literal["total", "components"] = "total"
    zero_variance: ZeroVariance = "keep"
    mask_truncated: bool = True
    difficulty: Literal["off", "pools"] = "off"
    curriculum: Literal["off", "length"] = "off"
    reward: RewardConfig = PAPER
    max_grad_norm: float = 1.0
    longest_prompt: int = 1024
    limits: TokenLimits = field(default_factory=TokenLimits)
    trainable: Trainable = "all"
    lora_rank: int = 0
    lora_alpha: int = 32
    precision: Literal["fp32", "bf16"] = "fp32"
    gradient_checkpointing: bool = False
    micro_batch: int = 0
    backend: Literal["auto", "decoder", "transformers", "vllm"] = "auto"
    vllm_mode: Literal["colocate", "server"] = "colocate"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    processes: int = 1
    sharding: Literal["ddp", "fsdp", "zero2", "zero3"] = "ddp"
    seed: int = 0
    max_steps: int = 350
    minutes: float | None = None
    patience: int = 0
    checkpoint_every: int = 10
    keep_tokens: KeepTokens = "last"
    threads: int = 2


def defaults() -> dict[str, Any]:
    """Return the default settings, for settings that the folder of an older run does not have."""

    def iterate_defaults() -> Iterator[tuple[str, Any]]:
        for one in fields(GRPORun):
            if one.default is not MISSING:
                yield one.name, one.default
            elif one.default_factory is not MISSING:
                yield one.name, one.default_factory()

    return {
        name: asdict(value) if hasattr(value, "__dataclass_fields__") else value for name, value in iterate_defaults()
    }
