"""One tool call as JSON, whatever surrounds it: parsed strictly, never evaluated, kept as evidence where malformed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from ..trajectory import ToolCall

MAX_DEPTH = 32
MALFORMED = ToolCall("", None)
MISSING = object()


class Format(Protocol):
    """How a family of models writes tool calls in its text."""

    def parse(self, text: str, most: int | None = None) -> tuple[ToolCall, ...]:
        """The first `most` calls of an assistant text; a malformed one is kept, without a name and arguments."""

    def write(self, calls: Sequence[ToolCall]) -> str:
        """The text of an assistant that makes these calls: the inverse of `parse`."""

    def words(self, text: str) -> str:
        """What an assistant text says beside its calls."""


def parse_call(body: str) -> ToolCall:
    """One call; malformed is also what no JSON text can hold: NaN, a number out of range, half a surrogate pair."""
    try:
        return call_of(json.loads(body))
    except (ValueError, RecursionError):
        return MALFORMED


def call_of(value: Any, *keys: str) -> ToolCall:
    """The call that a JSON value describes; its arguments stand under the first of `keys` ("arguments") it has.

    Raises ValueError or RecursionError for what no JSON text can hold.
    """
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    match value:
        case {"name": str(name), **rest}:
            given = next((rest[key] for key in keys or ("arguments",) if key in rest), MISSING)
            if given is MISSING:
                return ToolCall(name, {})
            if isinstance(given, dict) and depth(given) <= MAX_DEPTH:
                return ToolCall(name, given)
    return MALFORMED


def depth(value: Any) -> int:
    """How deep containers nest; a scalar is 0."""
    deepest, level = 0, [value]
    while level:
        level = [
            part
            for outer in level
            if isinstance(outer, dict | list)
            for part in (outer.values() if isinstance(outer, dict) else outer)
        ]
        deepest += 1
    return deepest - 1
