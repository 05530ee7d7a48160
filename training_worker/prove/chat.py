"""How a speaking model is talked to: tool calls read from its text, and the one protocol a model answers to.

Model text is untrusted: it is parsed as JSON, never evaluated, and what cannot be parsed is kept as a malformed call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

from .trajectory import Message, ToolCall

CALL = re.compile(r"<tool_call>(.*?)(</tool_call>|$)", re.S)
MAX_DEPTH = 32
CLOSING, ESCAPED = "</tool_call>", "<\\/tool_call>"  # the same text to a JSON parser, no tag to ours


class ChatModel(Protocol):
    """A model that speaks: policy, teacher or user."""

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        """The assistant's next text."""


class Format(Protocol):
    """How a family of models writes tool calls in its text."""

    def parse(self, text: str, most: int | None = None) -> tuple[ToolCall, ...]:
        """The first `most` calls of an assistant text; a malformed one is kept, without a name and arguments."""

    def write(self, calls: Sequence[ToolCall]) -> str:
        """The text of an assistant that makes these calls: the inverse of `parse`."""


class Hermes:
    """Calls as JSON between <tool_call> tags: Qwen2.5, Qwen3 and Granite 4."""

    def parse(self, text: str, most: int | None = None) -> tuple[ToolCall, ...]:
        return parse_calls(text, most)

    def write(self, calls: Sequence[ToolCall]) -> str:
        return write_calls(calls)


HERMES = Hermes()


class Scripted:
    """A chat model that says what it was given, in order; the double of the tests."""

    def __init__(self, texts: Iterable[str]):
        self.texts = iter(texts)

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        return next(self.texts, "")


def parse_calls(text: str, most: int | None = None) -> tuple[ToolCall, ...]:
    """The first `most` tool calls of one assistant text, Hermes style; a malformed one has no name and no arguments."""
    found = islice(CALL.finditer(text), most)
    return tuple(parse_call(match[1] if match[2] else "") for match in found)


def parse_call(body: str) -> ToolCall:
    """One call; malformed is also what no JSON text can hold: NaN, a number out of range, half a surrogate pair."""
    malformed = ToolCall("", None)
    try:
        call = json.loads(body)
        json.dumps(call, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return malformed
    match call:
        case {"name": str(name), "arguments": dict(arguments)} if depth(arguments) <= MAX_DEPTH:
            return ToolCall(name, arguments)
        case {"name": str(name), **rest} if "arguments" not in rest:
            return ToolCall(name, {})
    return malformed


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


def write_calls(calls: Sequence[ToolCall]) -> str:
    """The text a model writes to make these calls: the inverse of parse_calls, whatever the values hold."""
    return "\n".join(
        "<tool_call>\n"
        + json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False).replace(CLOSING, ESCAPED)
        + "\n</tool_call>"
        for call in calls
    )
