"""The options of `make gpu`, and its two sizes: the full one, and a small one that tries every stage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...config.presets import PAPER
from ...core.benchmark_page import PAGE


@dataclass(frozen=True)
class Size:
    """The sizes of all parts. `turn` and `completion` are tokens; the learning rates are usual for such a model."""

    examples: int = 2_000
    held_out: int = 200
    samples: int = 4
    longest_prompt: int = 1_024
    turn: int = 160
    completion: int = 1_024
    lora_rank: int = 0
    sft_steps: int = 500
    sft_batch: int = 8
    sft_rate: float = 1e-4
    grpo_steps: int = 150
    grpo_minutes: float | None = None  # the most minutes of training
    prompts: int = PAPER["prompts"]
    group: int = PAPER["group"]
    grpo_rate: float = 1e-5
    shape_prompts: int = 4  # groups of the paper's size, a quarter of its batch
    shape_steps: int = 6
    shape_turn: int = 40

    def select_values(self, *names: str) -> dict[str, float | None]:
        """Return the values that a stage depends on: changing others does not make it run again."""
        return {name: getattr(self, name) for name in names}


SMALL = Size(
    examples=16,
    held_out=2,
    samples=1,
    longest_prompt=1_024,
    turn=12,
    completion=192,
    lora_rank=8,
    sft_steps=2,
    sft_batch=1,
    grpo_steps=2,
    prompts=2,
    group=2,
    shape_prompts=1,
    shape_steps=2,
    shape_turn=8,
)


@dataclass(frozen=True)
class Options:
    """The options of a run.

    Empty `servers` means the three hardest; `page` receives the tables if a GPU produced them, unless `small`.
    """

    data: Path
    model: Path
    device: Literal["cuda", "cpu"] = "cuda"
    size: Size = Size()
    servers: tuple[str, ...] = ()
    threads: int = 2
    page: Path = PAGE
    small: bool = False

    @property
    def precision(self) -> Literal["fp32", "bf16"]:
        """Return the precision of updates."""
        return "bf16" if self.device == "cuda" else "fp32"
