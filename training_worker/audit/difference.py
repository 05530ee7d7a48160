"""The first difference between two id sequences in readable form: the tokens around it, one sequence per line."""

from __future__ import annotations

from collections.abc import Sequence

from transformers import PreTrainedTokenizerFast

AROUND = 6


def difference(
    tokenizer: PreTrainedTokenizerFast, expected: Sequence[int], found: Sequence[int], what: str = "the template has"
) -> str:
    """Return lines with the tokens around the first difference, which is in brackets; empty if there is none."""
    if list(expected) == list(found):
        return ""
    at = next((i for i, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        at = min(len(expected), len(found))
    lines = [f"first difference at token {at + 1}"]
    for name, ids in ((what, expected), ("assembled is", found)):
        lines.append(f"  {name:<17}{format_tokens(tokenizer, ids, at)}")
    return "\n".join(lines)


def format_tokens(tokenizer: PreTrainedTokenizerFast, ids: Sequence[int], at: int) -> str:
    """Return the tokens around a place, with the one at the place in brackets."""
    first = max(0, at - AROUND)
    parts = [repr(tokenizer.decode([id])) for id in ids[first : at + AROUND + 1]]
    if at < len(ids):
        parts[at - first] = f"[{parts[at - first]}]"
    else:
        parts.append("[nothing more]")
    return " ".join(["...", *parts] if first else parts)
