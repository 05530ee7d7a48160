"""Policies behind an OpenAI-compatible endpoint: with tool calls, or with tools described in a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..chat.protocol import HERMES, ChatModel, ScriptedModel, write_calls
from ..core.trajectory import Json, Message
from ..endpoint import Endpoint, EndpointFailed, TooLong
from .protocol import Item, NotRun, OutOfRoom, Policy, Style


class EndpointChatModel:
    """An endpoint's chat model for one conversation; its calls are in its text, Hermes style."""

    def __init__(self, endpoint: Endpoint, sampling: Mapping[str, Json]):
        self.endpoint, self.sampling, self.tokens = endpoint, sampling, 0

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        try:
            answer = self.endpoint.chat(messages, tools, sampling=self.sampling)
        except TooLong as reason:
            raise OutOfRoom(str(reason)) from None
        except EndpointFailed as reason:
            raise NotRun(str(reason)) from None
        self.tokens += answer.tokens
        # tags in the text would be parsed as calls in addition to the API's own
        words = HERMES.strip_calls(answer.text)
        return "\n".join(part for part in (words, write_calls(answer.calls)) if part)


def endpoint_policy(endpoint: Endpoint, style: Style = "tools", temperature: float | None = None) -> Policy:
    """Return the policy of an endpoint. Temperature None: the server's. Each trial of a task has its own seed."""
    sampling: dict[str, Json] = {} if temperature is None else {"temperature": temperature}
    return Policy(
        model=endpoint.settings.model,
        speak=lambda item: EndpointChatModel(
            endpoint, sampling if item.trial == 1 else {**sampling, "seed": item.trial}
        ),
        style=style,
        sampling={**sampling, "max_completion_tokens": endpoint.settings.answer},
    )


def silent(item: Item) -> ChatModel:
    """Return a model that says nothing: the do-nothing baseline."""
    return ScriptedModel([])
