"""Truncation of observations: at most a given number of tokens, and a mark with the number of missing ones."""

from __future__ import annotations

from transformers import PreTrainedTokenizerFast

READ = 200_000  # the most characters to tokenize, so that a huge observation costs little


def cut_tokens(tokenizer: PreTrainedTokenizerFast, text: str, most: int) -> str:
    """Return the text, truncated with a visible mark beyond `most` tokens; a character is never split."""
    if len(text.encode("utf-8", "replace")) <= most:  # no token is shorter than a byte
        return text
    spans = tokenizer(text[:READ], add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    if len(spans) <= most and len(text) <= READ:
        return text
    shown = text[: spans[min(most, len(spans)) - 1][1]] if most else ""
    while shown and len(tokenizer(shown, add_special_tokens=False)["input_ids"]) > most:
        shown = shown[:-1]  # a truncated word may take more tokens than the whole one
    left = max(0, len(spans) - most)
    return f"{shown}... [cut: {'more than ' if len(text) > READ else ''}{left:,} more tokens]"
