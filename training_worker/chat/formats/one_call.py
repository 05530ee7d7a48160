"""Strict parsing of one tool call from JSON; text is never evaluated, and a malformed call is recorded as such."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from ...core.trajectory import ToolCall

MAX_DEPTH = 32
MALFORMED = ToolCall("", None)
MISSING = object()


class Format(Protocol):
    """The text format in which a model family writes tool calls."""

    def parse(self, text: str, most: int | None = None) -> tuple[ToolCall, ...]:
        """Return the first `most` calls of an assistant text; a malformed call has no name and no arguments."""

    def write(self, calls: Sequence[ToolCall]) -> str:
        """Return the assistant text of these calls, the inverse of `parse`."""

    def strip_calls(self, text: str) -> str:
        """Return the assistant text without its calls."""


def parse_call(body: str) -> ToolCall:
    """Parse one call; NaN, numbers out of range and lone surrogates are malformed, too."""
    try:
        return call_of(json.loads(body))
    except (ValueError, RecursionError):
        return MALFORMED


def call_of(value: Any, *keys: str) -> ToolCall:
    """Return the call in a JSON value; its arguments are under the first of `keys` (default "arguments") it has.

    Raises ValueError or RecursionError for values that JSON text cannot represent.
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
    """Return the nesting depth of containers; 0 for a scalar."""
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
