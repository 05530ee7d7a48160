"""The check of a model's weights: decoding with a cache gives the log-probabilities of one pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from ..policy.model_families import family_of
from .checks import Check
from .conversations import Conversation, build_edge_cases
from .folder import unreadable
from .likelihood import TOLERANCE, Reader, find_largest_gap

LIKELIHOOD = "log-probabilities"
SHORT = ("parallel calls", "user turns")


def likelihood(model: Any, tokenizer: PreTrainedTokenizerFast, reader: type[Reader] = Reader) -> Check:
    """Check that a sampler's log-probabilities, token by token with a cache, are those that training recomputes."""
    worst, where = 0.0, ""
    for conversation in shortest(tokenizer):
        gap, detail = find_largest_gap(model, tokenizer, conversation, reader)
        if not gap <= worst:  # a gap that is not a number is the worst
            worst, where = gap, f"{conversation.name}: {detail}"
    text = f"The largest gap between decoding and one pass is {worst:.1e}; {TOLERANCE:.0e} is allowed."
    ok = worst <= TOLERANCE
    return Check(LIKELIHOOD, ok, text if ok else f"{text}\n  {where}")


def shortest(tokenizer: PreTrainedTokenizerFast) -> list[Conversation]:
    return [one for one in build_edge_cases(family_of(tokenizer).format) if one.name in SHORT]


def model_of(folder: Path) -> Any:
    """Return the model of a folder, in float32. Raises UnreadableModel."""
    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, local_files_only=True, trust_remote_code=False
        )
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError, MemoryError) as error:
        raise unreadable(folder, error) from None
    return model.eval()
