"""The length of an example's prompt in tokens of a policy; some prompts do not fit a small policy."""

from __future__ import annotations

from transformers import PreTrainedTokenizerFast

from ..core.trajectory import Example
from ..environment.episode import Prompt
from .conversation import prompt_ids


def prompt_length(tokenizer: PreTrainedTokenizerFast, example: Example) -> int:
    prompt = Prompt(example)
    return len(prompt_ids(tokenizer, prompt.opening, prompt.tools))
