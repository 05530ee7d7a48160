"""The settings of a supervised run with their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class SupervisedRun:
    """Training on demonstrations; it ends after `epochs`, `max_steps` or `minutes`, whichever comes first.

    `batch` is the number of conversations per step, `longest` the maximum tokens of a conversation. `decay` is the
    share of the run, at its end, over which the learning rate falls linearly to a tenth. The paper's supervised
    baseline has three epochs (section 4).
    """

    policy: Path
    data: Path
    out: Path
    epochs: int = 3
    batch: int = 8
    learning_rate: float = 2e-4
    warmup_steps: int = 3
    decay: float = 0.3
    max_grad_norm: float = 1.0
    longest: int = 2048
    lora_rank: int = 0
    lora_alpha: int = 32
    precision: Literal["fp32", "bf16"] = "fp32"
    gradient_checkpointing: bool = False
    device: Literal["auto", "cpu", "cuda"] = "auto"
    seed: int = 0
    max_steps: int = 100_000
    minutes: float | None = None
    patience: int = 0
    checkpoint_every: int = 25
    threads: int = 2
