"""The Llama 3.1, 3.2 and 3.3 format: calls as JSON objects `{"name": ..., "parameters": {...}}`, separated by ;.

There are no tags, so position and keys decide whether an object is a call: it starts the text, a line, or the part
after <|python_tag|> or another call, and it has a name and parameters (or arguments). Any other JSON object is no call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ...core.trajectory import ToolCall
from .one_call import MALFORMED, call_of

TAG = "<|python_tag|>"
KEYS = ("parameters", "arguments")
PIECE = re.compile(r"<\|python_tag\|>|\n|[;{]|[^\s;{<]+|<")
CALL_BEGINS = re.compile(r'\{\s*"(?:name|parameters|arguments|type)"\s*:')
DECODER = json.JSONDecoder()
Found = tuple[int, int, ToolCall]
"""The start and end of a call in the text, and the call."""


class Llama3:
    """The Llama 3 format. Text that starts like a call but is not JSON is one malformed call up to the end of the text,
    because its end is unknown; so is text other than a call after <|python_tag|>."""

    def parse(self, text: str, most: int | None = None) -> tuple[ToolCall, ...]:
        return tuple(call for _, _, call in islice(calls_in(text), most))

    def write(self, calls: Sequence[ToolCall]) -> str:
        return "; ".join(
            json.dumps({"name": call.name, "parameters": call.arguments}, ensure_ascii=False) for call in calls
        )

    def strip_calls(self, text: str) -> str:
        spans = list(calls_in(text))
        starts, ends = [start for start, _, _ in spans], [end for _, end, _ in spans]
        parts = [text[end:start].strip(" ;\n") for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
        return "\n".join(part.replace(TAG, "").strip() for part in parts).strip()


def calls_in(text: str) -> Iterator[Found]:
    """Yield the calls of a text in order, in linear time for any text."""
    at, opens, tagged = 0, True, False  # opens: a call may start here; tagged: a call must start here
    while piece := PIECE.search(text, at):
        start, at, said = piece.start(), piece.end(), piece[0]
        if said == TAG:
            opens = tagged = True
        elif said == "\n":
            opens = True
        elif said == "{" and opens and (tagged or CALL_BEGINS.match(text, start)):
            call, at = parse_call_at(text, start, tagged)
            tagged = False
            if call:
                yield start, at, call
        elif tagged:
            yield start, len(text), MALFORMED
            return
        elif said != ";":
            opens = False
    if tagged:
        yield len(text), len(text), MALFORMED


def parse_call_at(text: str, start: int, tagged: bool) -> tuple[ToolCall | None, int]:
    """Return the call that starts here, None if the object is not a call, and its end."""
    try:
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return MALFORMED, len(text)
    if not tagged and not ("name" in value and any(key in value for key in KEYS)):
        return None, end
    try:
        return call_of(value, *KEYS), end
    except (ValueError, RecursionError):
        return MALFORMED, end
