"""Conversion of external tool schemas to JSON Schema: BFCL and xLAM use Python type names, xLAM flat parameters.

Only parts that are known to be well-formed are kept, so that calls can be validated against the schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.trajectory import ForeignTool

TYPES = {
    **dict.fromkeys(("string", "str", "text", "char", "date", "datetime", "time", "enum"), "string"),
    **dict.fromkeys(("integer", "int", "long", "short", "byte", "bigint"), "integer"),
    **dict.fromkeys(("number", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "tuple", "set", "sequence", "arraylist"), "array"),
    **dict.fromkeys(("object", "dict", "map", "mapping", "hashmap"), "object"),
    **dict.fromkeys(("null", "none", "nonetype"), "null"),
}
SCHEMAS, ALTERNATIVES = ("properties", "$defs", "definitions"), ("anyOf", "oneOf", "allOf")
LONGEST_NAME = 200


class BadSchema(Exception):
    """A tool without a name or with an invalid schema; the message names the tool and the fault."""


def tool_of(given: Any) -> ForeignTool:
    """Parse a tool: the function itself, or the function inside "type": "function". Raises BadSchema."""
    inner = given.get("function") if isinstance(given, dict) else None
    fields = inner if isinstance(inner, dict) else given
    name = fields.get("name") if isinstance(fields, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise BadSchema(f"a tool must have a name of 1 to {LONGEST_NAME} characters")
    parameters = fields.get("parameters") or fields.get("input_schema") or {}
    if not isinstance(parameters, dict):
        raise BadSchema(f"the parameters of {name} are not an object")
    outer = fields.get("required")  # When2Call has it next to the parameters
    return ForeignTool(name, text(fields.get("description")), parameters_of(parameters, outer))


def parameters_of(given: dict[str, Any], outer: Any = None) -> dict[str, Any]:
    """Return the schema of a tool's arguments, always of type object."""
    if has_flat_parameters(given):
        required = [name for name, part in given.items() if is_required(part)]
        return {"type": "object", "properties": schemas(given), "required": required}
    found = {"properties": {}, **schema(given), "type": "object"}
    required = names(given.get("required")) or names(outer)
    return {**found, "required": [name for name in required if name in found["properties"]]}


def has_flat_parameters(given: dict[str, Any]) -> bool:
    """Return whether the parameters are flat, as in xLAM; one may be called "type" or "properties"."""
    inside = given.get("properties")
    if isinstance(given.get("type"), str):
        return False
    return bool(given) and not (isinstance(inside, dict) and "type" not in inside) and "$ref" not in given


def is_required(part: Any) -> bool:
    """Return whether an xLAM parameter is required: it is optional by its type ("str, optional") or by a default."""
    if not isinstance(part, dict):
        return True
    return part.get("default") is None and "optional" not in str(part.get("type", "")).lower()


def schema(given: Any) -> dict[str, Any]:
    """Return the known parts of a schema as JSON Schema; `{}`, which allows anything, if none is known."""
    if isinstance(given, str):
        given = {"type": given}
    if not isinstance(given, dict):
        return {}
    found: dict[str, Any] = {}
    types = [one for one in (kind(name) for name in names(given.get("type"))) if one]
    if types:
        found["type"] = types[0] if len(types) == 1 else types
    if description := text(given.get("description")):
        found["description"] = description
    if isinstance(given.get("enum"), list) and given["enum"]:
        found["enum"] = given["enum"]
    if given.get("default") is not None:
        found["default"] = given["default"]
    if isinstance(given.get("items"), dict | str):
        found["items"] = schema(given["items"])
    if isinstance(given.get("$ref"), str):
        found["$ref"] = given["$ref"]
    for key in SCHEMAS:
        if isinstance(given.get(key), dict):
            found[key] = schemas(given[key])
    for key in ALTERNATIVES:
        if isinstance(given.get(key), list) and given[key]:
            found[key] = [schema(one) for one in given[key]]
    if required := names(given.get("required")):
        found["required"] = required
    return found


def schemas(given: dict[str, Any]) -> dict[str, Any]:
    return {name: schema(part) for name, part in given.items() if part is not None}


def kind(name: str) -> str:
    """Return the JSON Schema name of a type such as "str, optional" or "List[int]"; "" for an unknown type."""
    return TYPES.get(name.split(",")[0].split("[")[0].strip().lower().removeprefix("typing."), "")


def names(given: Any) -> list[str]:
    """Return the strings of a list, or the single string."""
    listed: Iterable[Any] = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [name for name in listed if isinstance(name, str)]


def text(given: Any) -> str:
    return given if isinstance(given, str) else ""
