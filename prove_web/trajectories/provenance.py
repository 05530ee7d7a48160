"""Provenance of argument values: the earlier results that they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from training_worker.core.trajectory import Example, Rollout

SHORTEST = 4  # characters; the source of a shorter value is ambiguous


@dataclass(frozen=True)
class SourceCall:
    """An earlier call, by position from 0, and the argument that its result gave; "" if only its effect is needed."""

    source: int
    argument: str = ""

    @property
    def number(self) -> int:
        return self.source + 1

    @property
    def anchor(self) -> str:
        return f"call-{self.number}"


def feeds_by_edges(example: Example) -> dict[int, tuple[SourceCall, ...]]:
    """Return for each call of the ground truth, by position, the earlier calls that the edges of its step name.

    Each edge was verified by execution; the argument is one that holds a value of the earlier result.
    """
    starts = [0]
    for step in example.steps:
        starts.append(starts[-1] + len(step.calls))
    fed: dict[int, tuple[SourceCall, ...]] = {}
    for earlier, later in example.edges:
        sources = list(
            zip(range(starts[earlier], starts[earlier + 1]), example.steps[earlier].observations, strict=False)
        )
        for position, call in enumerate(example.steps[later].calls, starts[later]):
            given = [
                SourceCall(source, name)
                for source, text in sources
                for name in arguments_from(call.arguments or {}, leaves_of(text))
            ]
            fed[position] = (*fed.get(position, ()), *(given or [SourceCall(source) for source, _ in sources]))
    return fed


def feeds_by_values(rollout: Rollout) -> dict[int, tuple[SourceCall, ...]]:
    """Return for each call of a rollout, by position, the first earlier results that contain its values.

    A value that the user mentions comes from the user, so no result fed it.
    """
    said = "\n".join(message.content for message in rollout.transcript if message.role == "user")
    seen: dict[Any, int] = {}
    fed: dict[int, tuple[SourceCall, ...]] = {}
    for position, made in enumerate(rollout.calls):
        found = {
            SourceCall(seen[value], name): None
            for name, given in (made.call.arguments or {}).items()
            for value in iter_scalars(given)
            if is_distinctive(value) and value in seen and value not in said
        }
        if found:
            fed[position] = tuple(found)
        for value in leaves_of(made.observation):
            seen.setdefault(value, position)
    return fed


def arguments_from(arguments: dict[str, Any], values: set[Any]) -> list[str]:
    """Return the arguments that hold one of these values: by distinctive values if there are any, else by all."""
    held = {name: [value for value in iter_scalars(given) if value in values] for name, given in arguments.items()}
    by_distinctive = [name for name, found in held.items() if any(map(is_distinctive, found))]
    return by_distinctive or [name for name, found in held.items() if found]


def is_distinctive(value: Any) -> bool:
    return isinstance(value, str) and len(value) >= SHORTEST


def leaves_of(text: str) -> set[Any]:
    """Return the scalar values in a JSON result; the text itself if it is not JSON."""
    try:
        return set(iter_scalars(json.loads(text)))
    except (ValueError, RecursionError):
        return {text}


def iter_scalars(value: Any) -> Iterator[Any]:
    """Yield strings and numbers at any depth; booleans and nulls are not distinctive."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from iter_scalars(part)
    elif value is not None and not isinstance(value, bool):
        yield value
