"""Whether a JSON value fits a JSON Schema at the level of types: its kinds and its required keys, nothing finer.

Choices, formats and bounds are left to the server, which refuses on execution; so are keys a schema does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from ..trajectory import Json

ANYTHING: dict[str, Any] = {}
COMBINING = frozenset(("allOf", "$ref", "anyOf", "oneOf"))
NONE: frozenset[str] = frozenset()


def compatible(value: Json, schema: Any, root: Any, seen: frozenset[str] = NONE) -> bool:
    """Whether `value` has the types `schema` asks for; `root` is the document that its local references point into.

    `seen` holds the references followed since the last step into the value: one that leads back to itself asks for
    nothing. Of several alternatives (anyOf, oneOf) one must fit.
    """
    if not isinstance(schema, dict):
        return schema is not False
    if not (of_type(value, schema.get("type", ())) and complete(value, schema.get("required", ()))):
        return False
    if not COMBINING.isdisjoint(schema) and not combined(value, schema, root, seen):
        return False
    if isinstance(value, dict | list):
        return all(compatible(part, inner, root) for part, inner in parts(value, schema))
    return True


def combined(value: Json, schema: dict[str, Any], root: Any, seen: frozenset[str]) -> bool:
    """Whether a value fits what a schema is put together from."""
    together = list(schema.get("allOf", ()))
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        together.append(resolve(reference, root))
        seen = seen | {reference}
    alternatives = [schema[key] for key in ("anyOf", "oneOf") if key in schema]
    return all(compatible(value, each, root, seen) for each in together) and all(
        any(compatible(value, each, root, seen) for each in group) for group in alternatives
    )


def complete(value: Json, required: Any) -> bool:
    """Whether an object has the keys it must have; anything but an object has none to lack."""
    return not isinstance(value, dict) or all(key in value for key in required)


def of_type(value: Json, wanted: Any) -> bool:
    """Whether a value is of one of the types named; no name asks for nothing, an unknown one is left to the server."""
    if isinstance(wanted, str):
        return is_a(value, wanted)
    names = list(wanted)
    return not names or any(is_a(value, name) for name in names)


def is_a(value: Json, name: str) -> bool:
    """JSON Schema's types: 120.0 is an integer, every integer is a number, a boolean is neither."""
    match name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return is_number(value) and (isinstance(value, int) or value.is_integer())
        case "number":
            return is_number(value)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
    return True


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def parts(value: Json, schema: dict[str, Any]) -> Iterator[tuple[Json, Any]]:
    """Each part of a list or an object that the schema speaks about, with what it says."""
    if isinstance(value, list):
        fixed, rest = schema.get("prefixItems", []), schema.get("items", ANYTHING)
        yield from ((part, fixed[i] if i < len(fixed) else rest) for i, part in enumerate(value))
    elif isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties")
        others = rest if isinstance(rest, dict) else ANYTHING
        yield from ((part, known.get(key, others)) for key, part in value.items())


def resolve(reference: str, root: Any) -> Any:
    """What a local reference such as "#/$defs/Money" points at; anything is allowed where it points at nothing."""
    if not reference.startswith("#/"):
        return root if reference == "#" else ANYTHING
    place = root
    for step in unquote(reference[2:]).split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if not (isinstance(place, dict) and step in place):
            return ANYTHING
        place = place[step]
    return place
