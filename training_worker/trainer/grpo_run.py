"""One GRPO run as data: its settings, what makes it the same run again, and the prompts it asks in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import PreTrainedTokenizerFast

from ..prove.store.folder import Tokens
from ..prove.trajectory import Example, file_digest, read_lines
from .conversation import prompt_ids
from .sampler import Conversation, TokenLimits

Credit = Literal["rollout", "branch"]  # see credit.py
MAY_CHANGE = {"max_steps", "minutes", "checkpoint_every", "threads", "keep_tokens"}  # without being another run


@dataclass(frozen=True, kw_only=True)
class GRPORun:
    """One GRPO run. It ends after `max_steps` or `minutes` of training, whichever comes first, across resumes.

    `decay` is the share of the run, at its end, over which the learning rate falls linearly to a tenth.
    `keep_tokens` says of which steps tokens and log-probabilities are kept beside the rollouts: none, the last, or all.
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
    loss: str = "dapo"
    credit: Credit = "branch"
    scale_rewards: Literal["group", "batch", "none"] = "none"
    max_grad_norm: float = 1.0
    longest_prompt: int = 1024
    limits: TokenLimits = field(default_factory=TokenLimits)
    seed: int = 0
    max_steps: int = 350
    minutes: float | None = None
    checkpoint_every: int = 10
    keep_tokens: Tokens = "last"
    threads: int = 2


def trainable(
    config: GRPORun, tokenizer: PreTrainedTokenizerFast, attempt: Callable[[Example], Conversation]
) -> dict[str, Example]:
    """The training examples whose prompt is short enough, by id. Raises UnreadableData, ValueError."""

    def fits(example: Example) -> bool:
        asked = attempt(example)
        return len(prompt_ids(tokenizer, asked.opening, asked.tools)) <= config.longest_prompt

    found = [example for example in read_lines(Example, config.data) if example.split == "train"]
    kept = {example.id: example for example in found if fits(example)}
    if not kept:
        raise ValueError(f"{config.data} holds no training example of at most {config.longest_prompt} prompt tokens.")
    return kept


def order(config: GRPORun, examples: Sequence[Example]) -> Iterator[dict[str, Any]]:
    """One row per prompt of the whole run: the examples in shuffled rounds; a longer run begins with the same rows."""
    generator = torch.Generator().manual_seed(config.seed)
    left = config.max_steps * config.prompts
    while left > 0:
        for i in torch.randperm(len(examples), generator=generator).tolist()[:left]:
            yield {"prompt": [{"role": "user", "content": examples[i].turns[0], "example": examples[i].id}]}
        left -= len(examples)


def identity(config: GRPORun) -> dict[str, Any]:
    """What makes this run this run and no other: its configuration, and the data and policy it starts from."""
    fields = {
        name: value for name, value in asdict(config).items() if name not in {*MAY_CHANGE, "out", "policy", "data"}
    }
    weights = config.policy / "model.safetensors"
    return {**fields, "data": file_digest(config.data), "policy": file_digest(weights) if weights.exists() else ""}
