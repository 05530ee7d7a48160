"""Agent and user of a simulation: answers to the requests of tau2's process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...chat.protocol import HERMES, ChatModel, Format
from ...core.trajectory import Message, ToolCall
from ...environment.episode import printable
from ..protocol import NotRun, OutOfRoom


class Unusable(Exception):
    """An answer that tau2 cannot continue from; the message is the kind of failure."""


@dataclass
class Part:
    """The agent or the user. `texts` are its answers; `refused` is a last answer that could not be used."""

    model: ChatModel
    format: Format = HERMES
    texts: list[str] = field(default_factory=list)
    refused: str | None = None
    system: str = ""

    def answer(self, history: Sequence[Mapping[str, Any]], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the next answer as text and calls. Raises Unusable, NotRun and OutOfRoom."""
        messages = convert_messages(history, self.texts)
        self.system = messages[0].content
        text = printable(self.model.reply(messages, tools))
        self.refused = text
        calls = self.read(text)
        words = self.format.strip_calls(text)
        if not words.strip() and not calls:
            raise Unusable("empty_answer")
        self.texts.append(text)
        self.refused = None
        return {"content": words or None, "calls": [[call.name, call.arguments] for call in calls]}

    def read(self, text: str) -> Sequence[ToolCall]:
        found = self.format.parse(text)
        if any(call.arguments is None for call in found):
            raise Unusable("malformed_call")
        return found


@dataclass
class Conversation:
    """A conversation of agent and user; `over` says why this side ended it, None if it did not."""

    agent: Part
    user: Part
    over: NotRun | OutOfRoom | Unusable | None = None

    def reply(self, question: Mapping[str, Any]) -> dict[str, Any] | None:
        """Answer tau2's request for the next message of agent or user; None ends the simulation."""
        try:
            if question["who"] == "agent":
                return self.agent.answer(question["messages"], question["tools"])
            return self.of_user(question)
        except (NotRun, OutOfRoom, Unusable) as reason:
            self.over = reason
            return None

    def of_user(self, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.user.answer(question["messages"], question["tools"])
        except Unusable as reason:
            raise NotRun(f"the user's model gave an answer that cannot be used: {reason}") from None
        except OutOfRoom as reason:
            raise NotRun(f"the user's model: {reason}") from None


def convert_messages(history: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[Message]:
    """Convert tau2's messages; the last assistant messages get this part's own texts."""
    places = [place for place, one in enumerate(history) if one["role"] == "assistant"]
    own = dict(zip(places[len(places) - len(texts) :], texts, strict=True))
    return [Message(one["role"], own.get(place, one["content"] or "")) for place, one in enumerate(history)]
