"""The chat model protocol, which policy, teacher and user simulator implement.

Model text is untrusted: it is parsed as JSON and never evaluated, and text that cannot be parsed is recorded as a
malformed call (see formats/).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..core.trajectory import Message
from .formats import HERMES, Format
from .formats.hermes import CALL, Hermes, parse_calls, write_calls
from .formats.one_call import MAX_DEPTH, depth, parse_call

__all__ = [
    "CALL", "HERMES", "MAX_DEPTH", "ChatModel", "Format", "Hermes", "ScriptedModel", "depth", "parse_call",
    "parse_calls", "write_calls",
]  # fmt: skip


class ChatModel(Protocol):
    """A text-generating model: policy, teacher or user simulator."""

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        """Return the assistant's next text."""


class ScriptedModel:
    """A chat model that returns the given texts in order, as a test double."""

    def __init__(self, texts: Iterable[str]):
        self.texts = iter(texts)

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        return next(self.texts, "")
