"""Type-level JSON Schema validation: only types and required keys are checked.

Enums, formats, bounds and unknown keys are left to the server, which rejects them on execution.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from ..core.trajectory import Json

ANYTHING: dict[str, Any] = {}
COMBINING = frozenset(("allOf", "$ref", "anyOf", "oneOf"))
NONE: frozenset[str] = frozenset()


def compatible(value: Json, schema: Any, root: Any, seen: frozenset[str] = NONE) -> bool:
    """Return whether `value` has the types of `schema`; `root` is the document for local references.

    `seen` has the references followed since the last step into the value: a circular reference requires nothing. Of
    several alternatives (anyOf, oneOf) one must match.
    """
    if not isinstance(schema, dict):
        return schema is not False
    if not (of_type(value, schema.get("type", ())) and complete(value, schema.get("required", ()))):
        return False
    if not COMBINING.isdisjoint(schema) and not matches_combined_schemas(value, schema, root, seen):
        return False
    if isinstance(value, dict | list):
        return all(compatible(part, inner, root) for part, inner in parts(value, schema))
    return True


def matches_combined_schemas(value: Json, schema: dict[str, Any], root: Any, seen: frozenset[str]) -> bool:
    """Return whether a value matches allOf, $ref, anyOf and oneOf of a schema."""
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
    """Return whether an object has all required keys; True for any other value."""
    return not isinstance(value, dict) or all(key in value for key in required)


def of_type(value: Json, wanted: Any) -> bool:
    """Return whether a value has one of the named types; True without names or for an unknown name."""
    if isinstance(wanted, str):
        return is_a(value, wanted)
    names = list(wanted)
    return not names or any(is_a(value, name) for name in names)


def is_a(value: Json, name: str) -> bool:
    """Return whether a value has a JSON Schema type: 120.0 is an integer and a number, a boolean is neither."""
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
    """Yield each part of a list or an object with its schema."""
    if isinstance(value, list):
        fixed, rest = schema.get("prefixItems", []), schema.get("items", ANYTHING)
        yield from ((part, fixed[i] if i < len(fixed) else rest) for i, part in enumerate(value))
    elif isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties")
        others = rest if isinstance(rest, dict) else ANYTHING
        yield from ((part, known.get(key, others)) for key, part in value.items())


def resolve(reference: str, root: Any) -> Any:
    """Resolve a local reference such as "#/$defs/Money"; an unresolvable one gives a schema that allows anything."""
    if not reference.startswith("#/"):
        return root if reference == "#" else ANYTHING
    place = root
    for step in unquote(reference[2:]).split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if not (isinstance(place, dict) and step in place):
            return ANYTHING
        place = place[step]
    return place
