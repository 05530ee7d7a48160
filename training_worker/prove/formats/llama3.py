"""Calls as bare JSON objects: Llama 3.1, 3.2 and 3.3, `{"name": ..., "parameters": {...}}`, several with ; between.

There are no tags, so an object counts as a call by where it stands and what it has: it begins the text, a line, or what
follows <|python_tag|> or another call, and it has a name and parameters (or arguments). A JSON answer is no call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ..trajectory import ToolCall
from .one_call import MALFORMED, call_of

TAG = "<|python_tag|>"
KEYS = ("parameters", "arguments")
PIECE = re.compile(r"<\|python_tag\|>|\n|[;{]|[^\s;{<]+|<")
CALL_BEGINS = re.compile(r'\{\s*"(?:name|parameters|arguments|type)"\s*:')
DECODER = json.JSONDecoder()
Found = tuple[int, int, ToolCall]
"""Where a call begins and ends in the text, and the call."""


class Llama3:
    """What begins as a call and is no JSON is one malformed call, to the end of the text: nothing says where it ends.

    So is whatever follows the tag, which only a call may follow.
    """

    def parse(self, text: str, most: int | None = None) -> tuple[ToolCall, ...]:
        return tuple(call for _, _, call in islice(calls_in(text), most))

    def write(self, calls: Sequence[ToolCall]) -> str:
        return "; ".join(
            json.dumps({"name": call.name, "parameters": call.arguments}, ensure_ascii=False) for call in calls
        )

    def words(self, text: str) -> str:
        spans = list(calls_in(text))
        starts, ends = [start for start, _, _ in spans], [end for _, end, _ in spans]
        parts = [text[end:start].strip(" ;\n") for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
        return "\n".join(part.replace(TAG, "").strip() for part in parts).strip()


def calls_in(text: str) -> Iterator[Found]:
    """The calls of a text in order. Every character is read a fixed number of times, whatever the text."""
    at, opens, tagged = 0, True, False  # whether a call may begin here, and whether one must
    while piece := PIECE.search(text, at):
        start, at, said = piece.start(), piece.end(), piece[0]
        if said == TAG:
            opens = tagged = True
        elif said == "\n":
            opens = True
        elif said == "{" and opens and (tagged or CALL_BEGINS.match(text, start)):
            call, at = one(text, start, tagged)
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


def one(text: str, start: int, tagged: bool) -> tuple[ToolCall | None, int]:
    """The call that begins here, or none where the object is none; and where it ends."""
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
