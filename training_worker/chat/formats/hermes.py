"""The Hermes format: calls as JSON between <tool_call> tags, as in Qwen2.5, Qwen3 and Granite 4."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice

from ...core.trajectory import ToolCall
from .one_call import parse_call

CALL = re.compile(r"<tool_call>(.*?)(</tool_call>|$)", re.S)
CLOSING, ESCAPED = "</tool_call>", "<\\/tool_call>"  # equal to a JSON parser, but not a closing tag


class Hermes:
    """The Hermes format. An unclosed tag, or a tag around anything but a call, is a malformed call."""

    def parse(self, text: str, most: int | None = None) -> tuple[ToolCall, ...]:
        return parse_calls(text, most)

    def write(self, calls: Sequence[ToolCall]) -> str:
        return write_calls(calls)

    def strip_calls(self, text: str) -> str:
        return CALL.sub("", text).strip()


def parse_calls(text: str, most: int | None = None) -> tuple[ToolCall, ...]:
    """Return the first `most` tool calls of an assistant text; a malformed call has no name and no arguments."""
    found = islice(CALL.finditer(text), most)
    return tuple(parse_call(match[1] if match[2] else "") for match in found)


def write_calls(calls: Sequence[ToolCall]) -> str:
    """Return the text of these calls, the inverse of parse_calls for any argument values."""
    return "\n".join(
        "<tool_call>\n"
        + json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False).replace(CLOSING, ESCAPED)
        + "\n</tool_call>"
        for call in calls
    )
