"""Stub of litellm that sends tau2's requests to the parent, so tau2 needs neither litellm nor a network.

tau2's agent and user build their prompts and parse the answers as usual; the model's name says which one asks.
"""

import json
import sys
from collections.abc import Callable
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any

Json = Any


class ConversationEnded(Exception):
    """The parent has ended the conversation."""


class Answer:
    """The result of litellm's `completion`, as far as tau2 reads it."""

    def __init__(self, model: str, message: SimpleNamespace):
        self.model = model
        self.choices = [Choice(message)]

    def get(self, name: str) -> None:
        """Return None: no usage is reported, since the parent counts tokens."""


class Choice:
    finish_reason = "stop"

    def __init__(self, message: SimpleNamespace):
        self.message = message

    def to_dict(self) -> dict[str, Json]:
        return {}


class Speech:
    """litellm's `completion`. `ask` sends a request to the parent; a reply of None ends the conversation."""

    def __init__(self, ask: Callable[[Json], Json]):
        self.ask, self.numbers = ask, count(1)

    def completion(self, model: str, messages: list[Json], tools: list[Json] | None = None, **rest: Json) -> Answer:
        said = self.ask({"who": model, "messages": messages, "tools": tools or []})
        if said is None:
            raise ConversationEnded
        calls = [self.call(name, arguments) for name, arguments in said["calls"]]
        return Answer(model, SimpleNamespace(role="assistant", content=said["content"], tool_calls=calls))

    def call(self, name: str, arguments: dict[str, Json]) -> SimpleNamespace:
        function = SimpleNamespace(name=name, arguments=json.dumps(arguments))
        return SimpleNamespace(id=f"call_{next(self.numbers)}", function=function)


def replace_litellm(speech: Speech) -> None:
    """Replace litellm's modules. Call it before tau2 is imported."""
    litellm, main = ModuleType("litellm"), ModuleType("litellm.main")
    caching, cache = ModuleType("litellm.caching"), ModuleType("litellm.caching.caching")
    vars(litellm).update(completion=speech.completion, completion_cost=lambda **rest: 0.0, disable_cache=lambda: None)
    vars(main).update(ModelResponse=Answer, Usage=dict)
    vars(cache).update(Cache=None)
    sys.modules.update({module.__name__: module for module in (litellm, main, caching, cache)})
