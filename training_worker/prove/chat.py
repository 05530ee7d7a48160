"""How a speaking model is talked to: the one protocol that policy, teacher and user answer to.

Model text is untrusted: it is parsed as JSON, never evaluated, and what cannot be parsed is kept as a malformed call
(see formats/).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from .formats import HERMES, Format
from .formats.hermes import CALL, Hermes, parse_calls, write_calls
from .formats.one_call import MAX_DEPTH, depth, parse_call
from .trajectory import Message

__all__ = [
    "CALL", "HERMES", "MAX_DEPTH", "ChatModel", "Format", "Hermes", "Scripted", "depth", "parse_call", "parse_calls",
    "write_calls",
]  # fmt: skip


class ChatModel(Protocol):
    """A model that speaks: policy, teacher or user."""

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        """The assistant's next text."""


class Scripted:
    """A chat model that says what it was given, in order; the double of the tests."""

    def __init__(self, texts: Iterable[str]):
        self.texts = iter(texts)

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        return next(self.texts, "")
