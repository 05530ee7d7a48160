"""The settings of a GRPO run, and the identity that a resumed run must match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from ..core.trajectory import file_digest
from ..policy.models import weights_digest
from ..reward import PAPER, RewardConfig
from ..rollout.generate import TokenLimits
from ..store.folder import Tokens

__all__ = ["Credit", "GRPORun", "TokenLimits", "defaults", "file_digest", "identity"]

Credit = Literal["rollout", "branch"]  # see token_advantages.py
Trainable = Literal["all", "final_norm"]  # all weights, or the gains of the norm before the output
ZeroVariance = Literal["keep", "drop", "resample"]  # see dynamic_sampling.py
# settings that a resumed run may change
MAY_CHANGE = {"max_steps", "minutes", "checkpoint_every", "threads", "patience", "keep_tokens"}
PLACES = {"out", "policy", "data"}


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
    keep_tokens: Tokens = "last"
    threads: int = 2


def identity(config: GRPORun) -> dict[str, Any]:
    """Return what identifies a run: its configuration, and the digests of the data and policy it starts from."""
    settings = {name: value for name, value in asdict(config).items() if name not in MAY_CHANGE | PLACES}
    return {**settings, "data": file_digest(config.data), "policy": weights_digest(config.policy)}


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
