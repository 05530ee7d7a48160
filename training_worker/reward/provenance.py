"""The provenance term: the share of argument values that the model was given and did not invent."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from mcp_servers.catalogue import TOOLS

from ..core.trajectory import Example, Json, Rollout
from ..dataflow.provenance import single
from ..dataflow.speech import find_said


def provenance(example: Example, rollout: Rollout) -> float:
    """Return the share of the values in the model's arguments that have a source (our own term); 1 without values.

    A source is an earlier system, user or tool message that contains the value, verbatim or as people say it, or the
    tool's schema with its enum values and defaults. Booleans and null need no source. Lists and objects count value by
    value. The rule is the same as for the values of the ground truth.
    """
    texts = said_before(rollout)
    values = grounds = 0
    for made in rollout.calls:
        known = in_schema(made.call.name, example.enums_stripped)
        text = texts[made.turn] if made.turn < len(texts) else texts[-1]
        for name, given in (made.call.arguments or {}).items():
            for value in map(convert_integral_float, single(given)):
                values += 1
                grounds += (
                    value is None
                    or isinstance(value, bool)
                    or is_in(value, known)
                    or find_said(made.call.name, name, value, text, example.today) is not None
                )
    return grounds / values if values else 1.0


def convert_integral_float(value: Json) -> Json:
    """Return a whole float as an integer, as in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def said_before(rollout: Rollout) -> list[str]:
    """Return for each assistant turn all text that was shown before it."""
    found, so_far = list[str](), ""
    for message in rollout.transcript:
        if message.role == "assistant":
            found.append(so_far)
        else:
            so_far = f"{so_far} {message.content}"
    return found or [so_far]


def is_in(value: Json, known: frozenset[Any]) -> bool:
    return isinstance(value, str | int | float) and value in known


@lru_cache(maxsize=4096)
def in_schema(tool: str, enums_stripped: bool) -> frozenset[Any]:
    """Return the enum values and defaults in a tool's schema, without enum values if they are stripped.

    Empty for a tool that is not in the catalogue.
    """
    if tool not in TOOLS:
        return frozenset()
    return frozenset(
        one for one in find_schema_scalars(TOOLS[tool][1].input_schema, enums_stripped) if not isinstance(one, bool)
    )


def find_schema_scalars(schema: Any, enums_stripped: bool) -> Iterator[Any]:
    """Yield the scalars among the enum values, constants and defaults at any depth of a schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from find_schema_scalars(part, enums_stripped)
    elif isinstance(schema, dict):
        for key, part in schema.items():
            if key in ("enum", "const", "default"):
                if key == "default" or not enums_stripped:
                    yield from (one for one in single(part) if isinstance(one, str | int | float))
            else:
                yield from find_schema_scalars(part, enums_stripped)
