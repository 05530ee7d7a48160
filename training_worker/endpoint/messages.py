"""Conversion of conversations to and from the chat API. Model output is parsed and never evaluated."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..chat.protocol import CALL, parse_call, parse_calls
from ..core.trajectory import Message, ToolCall
from ..environment.episode import printable

NAMELESS = "malformed_call"


@dataclass(frozen=True)
class Reply:
    """A model's text and calls; a malformed call has no name and no arguments.

    `complete` is False when the token limit cut it off; `tokens` is the usage that the server reports.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    complete: bool = True
    tokens: int = field(default=0, compare=False)


def as_sent(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """Yield messages in the API's format: calls in an assistant text get their own field where tool messages follow it.

    Raises ValueError for a tool message that answers no call.
    """
    waiting: list[str] = []
    for position, message in enumerate(messages):
        following = messages[position + 1 : position + 2]
        if message.role == "tool":
            if not waiting:
                raise ValueError(f"Message {position} answers no call.")
            yield {"role": "tool", "tool_call_id": waiting.pop(0), "content": message.content}
        elif message.role == "assistant" and following and following[0].role == "tool":
            calls = parse_calls(message.content)
            waiting = [f"call_{position}_{number}" for number in range(len(calls))]
            yield {
                "role": "assistant",
                "content": CALL.sub("", message.content).strip(),
                "tool_calls": [call_sent(id, call) for id, call in zip(waiting, calls, strict=True)],
            }
        else:
            yield {"role": message.role, "content": message.content}


def call_sent(id: str, call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments or {}, ensure_ascii=False)
    return {"id": id, "type": "function", "function": {"name": call.name or NAMELESS, "arguments": arguments}}


def reply_in(body: str) -> tuple[Reply, int]:
    """Return the reply in an answer of the API, and the tokens used (0 when not reported).

    Raises ValueError for anything but a chat completion.
    """
    try:
        answer = json.loads(body)
    except RecursionError:
        raise ValueError("too deep") from None
    match answer:
        case {"choices": [{"message": {**message}, **choice}, *_]}:
            text = message.get("content") or ""
            calls = message.get("tool_calls") or []
            if isinstance(text, str) and isinstance(calls, list):
                reply = build_reply(printable(text), calls, choice.get("finish_reason") != "length")
                return reply, tokens_in(answer.get("usage"))
    raise ValueError("no choices")


def build_reply(text: str, calls: list[Any], complete: bool) -> Reply:
    """Return a reply; calls that a server left in the text, Hermes style, are parsed from it."""
    if calls:
        return Reply(text, tuple(call_in(call) for call in calls), complete)
    return Reply(CALL.sub("", text).strip(), parse_calls(text), complete)


def call_in(call: Any) -> ToolCall:
    """Parse a call of an answer as strictly as `chat.parse_call`."""
    match call:
        case {"function": {"name": name, "arguments": arguments}}:
            try:
                value = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
                return parse_call(json.dumps({"name": name, "arguments": value}))
            except (ValueError, RecursionError):
                pass
    return ToolCall("", None)


def tokens_in(usage: Any) -> int:
    match usage:
        case {"total_tokens": int(total)} if total > 0:
            return total
    return 0
