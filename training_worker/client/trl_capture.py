"""Capture of the inputs and outputs of a trainer's reward functions, the one public place where TRL shows completions.

A watched function returns the same as before. What can't be captured is dropped, and training goes on.
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
    """Recorder of the functions' prompts, completions and rewards since the last `take`."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, Any]] = []
        self.given: dict[str, list[Any]] = {}
        self.names: list[str] = []

    def wrap_functions(self, functions: Any) -> Any:
        """Wrap the functions in their order; models, names of models and asynchronous functions stay unwatched."""
        if not isinstance(functions, list | tuple):
            return self.wrap_functions([functions])[0]
        self.names = []
        return [self.wrap_function(each) if is_plain(each) else self.skip_function(each) for each in functions]

    def skip_function(self, function: Any) -> Any:
        self.names.append("")
        return function

    def wrap_function(self, function: Reward) -> Reward:
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
        """Return the groups since then in the site's format: neighbours of one prompt, rewarded by the weighted sum."""
        rows, given = self.rows, self.given
        self.clear()
        if any(len(each) != len(rows) for each in given.values()):
            return []  # a function raised an error, so rewards can't be assigned to completions
        samples = [
            (prompt, rollout(completion, parts(given, at), weights)) for at, (prompt, completion) in enumerate(rows)
        ]
        return [
            {"prompt": convert_content(prompt), "rollouts": [one for _, one in members]}
            for prompt, members in groupby(samples, key=lambda each: each[0])
        ]


def is_plain(function: Any) -> bool:
    waits = any(iscoroutinefunction(each) for each in (function, getattr(type(function), "__call__", None)))  # noqa: B004
    return callable(function) and not hasattr(function, "parameters") and not waits


def parts(given: Mapping[str, Sequence[Any]], at: int) -> dict[str, float]:
    known = {name: values[at] for name, values in given.items() if values[at] is not None}
    return {name[:80]: float(value) for name, value in known.items() if isfinite(value)}


def rollout(completion: Any, parts: dict[str, float], weights: Mapping[str, float]) -> Json:
    reward = sum(weights.get(name, 1.0) * value for name, value in parts.items()) if parts else None
    return {"completion": convert_content(completion), "reward": reward, "parts": parts}


def convert_content(content: Any) -> Any:
    """Return a text unchanged, and a conversation as messages in the site's format."""
    if isinstance(content, list):
        return [message(each) for each in content if isinstance(each, dict)]
    return str(content)


def message(fields: Mapping[str, Any]) -> Json:
    content = fields.get("content")
    if isinstance(content, list):  # a list of parts, of which the pages show the text
        content = "".join(str(each.get("text") or "") for each in content if isinstance(each, dict))
    role = fields.get("role") if fields.get("role") in ("system", "user", "assistant", "tool") else "user"
    calls = [call(each) for each in fields.get("tool_calls") or () if isinstance(each, dict)]
    return {"role": role, "content": str(content or ""), **({"calls": calls} if calls else {})}


def call(fields: Mapping[str, Any]) -> Json:
    named = fields.get("function")
    function = named if isinstance(named, dict) else fields
    arguments = function.get("arguments")
    return {
        "tool": str(function.get("name") or "")[:200],
        "arguments": arguments if isinstance(arguments, dict) else None,
    }
