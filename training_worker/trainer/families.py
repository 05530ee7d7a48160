"""What differs from one family of models to the next: how tool calls are written, and which tokens end a turn."""

from __future__ import annotations

from dataclasses import dataclass

from transformers import PreTrainedTokenizerFast

from ..prove.chat import HERMES, Format


@dataclass(frozen=True)
class Family:
    """A family of models; `stop` holds the ids that end an assistant turn."""

    name: str
    format: Format
    stop: frozenset[int]


def family_of(tokenizer: PreTrainedTokenizerFast) -> Family:
    """The family whose chat template a tokenizer has."""
    return Family("qwen3", HERMES, frozenset({int(tokenizer.eos_token_id)}))
