"""How long an example's prompt is, in tokens of a policy: some do not fit a small one."""

from __future__ import annotations

from transformers import PreTrainedTokenizerFast

from ..prove.rollout import Prompt
from ..prove.trajectory import Example
from .conversation import prompt_ids


def prompt_length(tokenizer: PreTrainedTokenizerFast, example: Example) -> int:
    asked = Prompt(example)
    return len(prompt_ids(tokenizer, asked.opening, asked.tools))
