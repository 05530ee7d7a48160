"""What a trainer's reward functions were given and what they gave: the one public place where TRL shows completions.

A function that is watched returns what it always did. Whatever it cannot be told of is left out, and training goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import iscoroutinefunction
from itertools import groupby
from math import isfinite
from typing import Any

Reward = Callable[..., Any]
Json = dict[str, Any]


class Watch:
    """The prompts, completions and rewards of the functions since they were last taken."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, Any]] = []
        self.given: dict[str, list[Any]] = {}
        self.names: list[str] = []

    def watched(self, functions: Any) -> Any:
        """The functions in their order, each watched; models, names of models and asynchronous functions are not."""
        if not isinstance(functions, list | tuple):
            return self.watched([functions])[0]
        self.names = []
        return [self.one(each) if is_plain(each) else self.unwatched(each) for each in functions]

    def unwatched(self, function: Any) -> Any:
        self.names.append("")
        return function

    def one(self, function: Reward) -> Reward:
        called = getattr(function, "__name__", type(function).__name__)
        name = called if called not in self.names else f"{called}_{len(self.names) + 1}"
        self.names.append(name)

        @wraps(function)
        def wrapper(prompts: Any, completions: Any, *rest: Any, **more: Any) -> Any:
            rewards = function(prompts, completions, *rest, **more)
            self.note(name, prompts, completions, rewards)
            return rewards

        return wrapper

    def note(self, name: str, prompts: Any, completions: Any, rewards: Any) -> None:
        if name in self.given and len(self.given[name]) == len(self.rows):
            self.rows += zip(prompts, completions, strict=False)
        elif not self.given:
            self.rows = [*zip(prompts, completions, strict=False)]
        self.given.setdefault(name, []).extend(rewards)

    def clear(self) -> None:
        self.rows, self.given = [], {}

    def take(self, weights: Mapping[str, float]) -> list[Json]:
        """The groups since then, as the site takes them: neighbours of one prompt, with the weighted sum as reward."""
        rows, given = self.rows, self.given
        self.clear()
        if any(len(each) != len(rows) for each in given.values()):
            return []  # a function broke off, and whose reward is whose is not known
        told = [
            (prompt, rollout(completion, parts(given, at), weights)) for at, (prompt, completion) in enumerate(rows)
        ]
        return [
            {"prompt": said(prompt), "rollouts": [one for _, one in members]}
            for prompt, members in groupby(told, key=lambda each: each[0])
        ]


def is_plain(function: Any) -> bool:
    waits = any(iscoroutinefunction(each) for each in (function, getattr(type(function), "__call__", None)))  # noqa: B004
    return callable(function) and not hasattr(function, "parameters") and not waits


def parts(given: Mapping[str, Sequence[Any]], at: int) -> dict[str, float]:
    known = {name: values[at] for name, values in given.items() if values[at] is not None}
    return {name[:80]: float(value) for name, value in known.items() if isfinite(value)}


def rollout(completion: Any, parts: dict[str, float], weights: Mapping[str, float]) -> Json:
    reward = sum(weights.get(name, 1.0) * value for name, value in parts.items()) if parts else None
    return {"completion": said(completion), "reward": reward, "parts": parts}


def said(told: Any) -> Any:
    """A text as it is; a conversation as the site takes messages."""
    if isinstance(told, list):
        return [message(each) for each in told if isinstance(each, dict)]
    return str(told)


def message(told: Mapping[str, Any]) -> Json:
    content = told.get("content")
    if isinstance(content, list):  # pieces, of which a page shows the text
        content = "".join(str(each.get("text") or "") for each in content if isinstance(each, dict))
    role = told.get("role") if told.get("role") in ("system", "user", "assistant", "tool") else "user"
    calls = [call(each) for each in told.get("tool_calls") or () if isinstance(each, dict)]
    return {"role": role, "content": str(content or ""), **({"calls": calls} if calls else {})}


def call(told: Mapping[str, Any]) -> Json:
    named = told.get("function")
    function = named if isinstance(named, dict) else told
    arguments = function.get("arguments")
    return {
        "tool": str(function.get("name") or "")[:200],
        "arguments": arguments if isinstance(arguments, dict) else None,
    }
