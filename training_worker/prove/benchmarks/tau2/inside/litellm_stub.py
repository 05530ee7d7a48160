"""In litellm's place: what tau2 asks a language model is asked of the parent, so tau2 needs neither litellm nor a net.

Agent and user of tau2 build their own prompts and read the answers as ever; the name of the model says who asks.
"""

import json
import sys
from collections.abc import Callable
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any

Json = Any


class Over(Exception):
    """The parent has ended the conversation."""


class Answer:
    """What litellm's `completion` gives, as far as tau2 reads it."""

    def __init__(self, model: str, message: SimpleNamespace):
        self.model = model
        self.choices = [Choice(message)]

    def get(self, name: str) -> None:
        """No usage is told: the parent counts tokens."""


class Choice:
    finish_reason = "stop"

    def __init__(self, message: SimpleNamespace):
        self.message = message

    def to_dict(self) -> dict[str, Json]:
        return {}


class Speech:
    """`completion` of litellm. `ask` brings a question to the parent; without a reply the conversation is over."""

    def __init__(self, ask: Callable[[Json], Json]):
        self.ask, self.numbers = ask, count(1)

    def completion(self, model: str, messages: list[Json], tools: list[Json] | None = None, **rest: Json) -> Answer:
        said = self.ask({"who": model, "messages": messages, "tools": tools or []})
        if said is None:
            raise Over
        calls = [self.call(name, arguments) for name, arguments in said["calls"]]
        return Answer(model, SimpleNamespace(role="assistant", content=said["content"], tool_calls=calls))

    def call(self, name: str, arguments: dict[str, Json]) -> SimpleNamespace:
        function = SimpleNamespace(name=name, arguments=json.dumps(arguments))
        return SimpleNamespace(id=f"call_{next(self.numbers)}", function=function)


def replace_litellm(speech: Speech) -> None:
    """Before tau2 is imported."""
    litellm, main = ModuleType("litellm"), ModuleType("litellm.main")
    caching, cache = ModuleType("litellm.caching"), ModuleType("litellm.caching.caching")
    vars(litellm).update(completion=speech.completion, completion_cost=lambda **rest: 0.0, disable_cache=lambda: None)
    vars(main).update(ModelResponse=Answer, Usage=dict)
    vars(cache).update(Cache=None)
    sys.modules.update({module.__name__: module for module in (litellm, main, caching, cache)})
