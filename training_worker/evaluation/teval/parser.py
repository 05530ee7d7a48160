"""Parser of model answers as T-Eval reads them: Python literals or JSON; nothing is evaluated."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable
from threading import Lock
from typing import Any

from ...chat.formats.one_call import MAX_DEPTH, depth
from ...core.trajectory import Json
from ...environment.episode import printable

ENDS = ("<eoa>", "<TOKENS_UNUSED_1>", "<|im_end|>", "\nuser", "\nassistant", "\nUSER", "[INST]", "<|user|>")
FENCE = "```json"
NOT_A_VALUE = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)
WARNINGS = Lock()  # warning filters are shared by all threads


class Unreadable(Exception):
    """A text, or a value in it, that T-Eval cannot parse."""


def answer_in(text: str) -> str:
    """Return the answer in a text as T-Eval extracts it: up to the first special token, and without a code fence.

    A reasoning model's thoughts are removed.
    """
    thought, closed, answer = printable(text).partition("</think>")
    remaining = answer if closed else thought
    for end in ENDS:
        remaining = remaining.partition(end)[0]
    return remaining.strip().removeprefix(FENCE).strip("`").strip()


def value_in(text: str, opening: str = "", closing: str = "") -> Json:
    """Return the value in a text, from the first `opening` to the last `closing` where these are given.

    As T-Eval does, try a Python literal, JSON, and JSON in single quotes, in this order. Raises Unreadable.
    """
    if FENCE in text:
        text = text.partition(FENCE)[2].strip("`")
    if opening or closing:
        start, end = text.find(opening), text.rfind(closing)
        if not 0 <= start < end:
            raise Unreadable(f"no {opening}...{closing}")
        text = text[start : end + len(closing)]
    for read in (literal, json.loads, in_single_quotes):
        if (found := try_reader(read, text)) is not None:
            return found[0]
    raise Unreadable("neither a Python literal nor JSON")


def try_reader(read: Callable[[str], Any], text: str) -> tuple[Any] | None:
    """Return the value as a 1-tuple; None if it nests too deep or has no text form (an integer of too many digits)."""
    try:
        value = read(text)
        return (value,) if depth(value) <= MAX_DEPTH and str(value) else None
    except NOT_A_VALUE:
        return None


def literal(text: str) -> Any:
    """Parse a Python literal. Raises one of NOT_A_VALUE."""
    with WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is the model's and needs no warning
        return ast.literal_eval(text)


def in_single_quotes(text: str) -> Any:
    return json.loads(text.replace("'", '"'))
