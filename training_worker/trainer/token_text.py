"""The text of single tokens, to show where no tokenizer is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from transformers import PreTrainedTokenizerFast

HALF = "\N{REPLACEMENT CHARACTER}"


@cache
def piece_of(tokenizer: PreTrainedTokenizerFast) -> Callable[[int], str]:
    """What tells a token's text; of one that is not whole characters it is the vocabulary's own name."""

    def piece(token: int) -> str:
        text = str(tokenizer.decode([token]))
        return str(tokenizer.convert_ids_to_tokens(token)) if HALF in text or not text else text

    return cache(piece)
