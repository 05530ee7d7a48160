"""The text of single tokens, for display without a tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from transformers import PreTrainedTokenizerFast

HALF = "\N{REPLACEMENT CHARACTER}"


@cache
def piece_of(tokenizer: PreTrainedTokenizerFast) -> Callable[[int], str]:
    """Return a function that gives a token's text, or its vocabulary name if it is not whole characters."""

    def piece(token: int) -> str:
        text = str(tokenizer.decode([token]))
        return str(tokenizer.convert_ids_to_tokens(token)) if HALF in text or not text else text

    return cache(piece)
