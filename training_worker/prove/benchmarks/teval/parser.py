"""What T-Eval reads in a text that a model wrote: literals of Python or JSON, never evaluated."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable
from threading import Lock
from typing import Any

from ...formats.one_call import MAX_DEPTH, depth
from ...rollout import printable
from ...trajectory import Json

ENDS = ("<eoa>", "<TOKENS_UNUSED_1>", "<|im_end|>", "\nuser", "\nassistant", "\nUSER", "[INST]", "<|user|>")
FENCE = "```json"
NOT_A_VALUE = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)
WARNINGS = Lock()  # the filters of warnings are one for all threads


class Unreadable(Exception):
    """A text, or a value in it, that is not what T-Eval asks for."""


def answer_in(text: str) -> str:
    """The answer of a text as T-Eval cuts it out: without special tokens, what follows them, and a fence around it.

    What a reasoning model thinks first is no part of it.
    """
    thought, closed, answer = printable(text).partition("</think>")
    kept = answer if closed else thought
    for end in ENDS:
        kept = kept.partition(end)[0]
    return kept.strip().removeprefix(FENCE).strip("`").strip()


def value_in(text: str, opening: str = "", closing: str = "") -> Json:
    """The value in a text, from the first `opening` to the last `closing` where these are given.

    T-Eval takes the first that can be read: a literal of Python, JSON, JSON in single quotes. Raises Unreadable.
    """
    if FENCE in text:
        text = text.partition(FENCE)[2].strip("`")
    if opening or closing:
        start, end = text.find(opening), text.rfind(closing)
        if not 0 <= start < end:
            raise Unreadable(f"no {opening}...{closing}")
        text = text[start : end + len(closing)]
    for read in (literal, json.loads, in_single_quotes):
        if (found := tried(read, text)) is not None:
            return found[0]
    raise Unreadable("neither a literal of Python nor JSON")


def tried(read: Callable[[str], Any], text: str) -> tuple[Any] | None:
    """The value, unless it nests too deep or cannot be written out (an integer of too many digits)."""
    try:
        value = read(text)
        return (value,) if depth(value) <= MAX_DEPTH and str(value) else None
    except NOT_A_VALUE:
        return None


def literal(text: str) -> Any:
    """Raises one of NOT_A_VALUE."""
    with WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a wrong escape is the model's, and nothing to tell of
        return ast.literal_eval(text)


def in_single_quotes(text: str) -> Any:
    return json.loads(text.replace("'", '"'))
