"""Structured output: requests for JSON of a given type, repeated with the reason until it is valid or tries run out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from ..core.trajectory import Message, loads
from .client import Endpoint

T = TypeVar("T")
TRIES = 3
NOT_JSON = "not the JSON asked for"
CUT = "too long: it was cut off"


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The requested value; or None, with the reason `why` the last try failed."""

    value: T | None
    why: str = ""


def request_json(
    endpoint: Endpoint,
    messages: Sequence[Message],
    shape: type[T],
    fault: Callable[[T], str] = lambda value: "",
    tries: int = TRIES,
) -> Answer[T]:
    """Return the first answer without a `fault` ("" for none), or none. Raises EndpointFailed."""
    said, why = list(messages), ""
    for _ in range(tries):
        reply = endpoint.chat(said)
        value = read(shape, reply.text) if reply.complete else None
        why = fault(value) if value is not None else (NOT_JSON if reply.complete else CUT)
        if not why:
            return Answer(value)
        said += [
            Message("assistant", reply.text or "(nothing)"),
            Message("user", f"That will not do: {why}. Answer once more."),
        ]
    return Answer(None, why)


def without_thoughts(text: str) -> str:
    """Return the text without the parts between <think> and the next </think>."""
    *closed, rest = text.split("</think>")
    parts = ((piece, *piece.partition("<think>")) for piece in closed)
    return "".join(before if opened else f"{piece}</think>" for piece, before, opened, _ in parts) + rest


def read(shape: type[T], text: str) -> T | None:
    """Return the JSON object in a text, ignoring the text around it; None when it has not this type."""
    text = without_thoughts(text)
    try:
        return loads(shape, text[text.find("{") : text.rfind("}") + 1])
    except ValidationError:
        return None
