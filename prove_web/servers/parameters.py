"""Parameters of a tool for people to read and fill in, from its input schema at any depth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mcp_servers.core import Tool
from mcp_servers.core.times import MINUTE_EXAMPLE

LONG = 200  # characters from which a parameter gets a text area
DEEPEST = 6  # deeper values are entered as JSON
SHAPES = {"date": "2026-03-05", "date-time": MINUTE_EXAMPLE}
LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
}
NOT_BLANK = r"\S"
CHECKED = ("minimum", "maximum", "minLength", "maxLength", "pattern")


@dataclass(frozen=True)
class Parameter:
    """A parameter.

    `kind` says how it is entered: text, long, integer, number, choice, boolean, json; array, which has an `item`, or
    object, which has `parts`. `checks` are the limits that browsers know, by their JSON name.
    """

    name: str
    kind: str
    type: str
    description: str
    required: bool
    default: Any
    options: tuple[str, ...]
    limits: tuple[str, ...]
    format: str
    examples: tuple[str, ...]
    id_type: str
    sensitive: bool
    nullable: bool = False
    item: Parameter | None = None
    parts: tuple[Parameter, ...] = ()
    checks: tuple[tuple[str, Any], ...] = ()
    values: tuple[Any, ...] = ()  # the value of each of a choice's options

    @property
    def placeholder(self) -> str:
        """An example of a value, or the default value."""
        if self.default is not None:
            return f"default: {self.default}"
        return f"e.g. {self.examples[0]}" if self.examples else ""

    @property
    def check(self) -> dict[str, Any]:
        return dict(self.checks)


def parameters(tool: Tool) -> list[Parameter]:
    schema = tool.input_schema
    read = Reader(schema.get("$defs", {}))
    return [
        read.parameter(name, part, name in tool.required, tool.ids.get(name, ""), name in tool.sensitive)
        for name, part in schema["properties"].items()
    ]


@dataclass(frozen=True)
class Reader:
    """Reader of parameters from a schema with these definitions."""

    definitions: dict[str, Any]

    def parameter(
        self, name: str, schema: dict[str, Any], required: bool, id_type: str, sensitive: bool, depth: int = 0
    ) -> Parameter:
        given = unwrap_optional(schema, self.definitions)
        kind = kind_of(given) if depth < DEEPEST else "json"
        kind = "text" if kind == "long" and id_type else kind
        shape = SHAPES.get(given.get("format", ""))
        item: Parameter | None = None
        parts: tuple[Parameter, ...] = ()
        if kind == "array":
            item = self.parameter("", given["items"], True, id_type, sensitive, depth + 1)
        elif kind == "object":
            needed = given.get("required", ())
            parts = tuple(
                self.parameter(inner, part, inner in needed, "", False, depth + 1)
                for inner, part in given["properties"].items()
            )
        return Parameter(
            name=name,
            kind=kind,
            type=type_of(given),
            description=schema.get("description", given.get("description", "")),
            required=required,
            default=schema.get("default"),
            options=("true", "false") if kind == "boolean" else tuple(choices(given)) if kind == "choice" else (),
            limits=limits(given, schema.get("description", "")),
            format=given.get("format", ""),
            examples=(shape,) if shape else tuple(map(str, schema.get("examples", ()))) if kind != "json" else (),
            id_type=id_type,
            sensitive=sensitive,
            nullable=takes_null(schema, self.definitions),
            item=item,
            parts=parts,
            checks=tuple((key, given[key]) for key in CHECKED if key in given),
            values=tuple(choices(given).values()) if kind == "choice" else (),
        )


def unwrap_optional(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a non-null value, with references resolved."""
    if "$ref" in schema:
        return unwrap_optional(definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions)
    if isinstance(schema.get("type"), list):
        kinds = [kind for kind in schema["type"] if kind != "null"]
        return {**schema, "type": kinds[0]} if len(kinds) == 1 else schema
    branches = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    return unwrap_optional(branches[0], definitions) if len(branches) == 1 else schema


def takes_null(schema: dict[str, Any], definitions: dict[str, Any]) -> bool:
    if "$ref" in schema:
        return takes_null(definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions)
    kinds = schema.get("type")
    return (isinstance(kinds, list) and "null" in kinds) or {"type": "null"} in schema.get("anyOf", ())


def kind_of(schema: dict[str, Any]) -> str:
    match schema:
        case {"enum": list(values)} if choices(schema) and len(set(choices(schema))) == len(values):
            return "choice"
        case {"const": str() | int() | float()}:
            return "choice"
        case {"type": "string", "maxLength": int(most)} if most > LONG:
            return "long"
        case {"type": "string"}:
            return "text"
        case {"type": "integer" | "number" | "boolean" as kind}:
            return str(kind)
        case {"type": "array", "items": dict()} if "prefixItems" not in schema:
            return "array"
        case {"type": "object", "properties": dict(parts)} if parts:
            return "object"
    return "json"


def choices(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an enumeration by option; text as it is, other values as JSON."""
    values = schema["enum"] if "enum" in schema else [schema["const"]]
    return {value if isinstance(value, str) else json.dumps(value): value for value in values if value is not None}


def type_of(schema: dict[str, Any]) -> str:
    """Return the type in words: `string`, `array of string`, `string or integer`."""
    if "anyOf" in schema:
        return " or ".join(type_of(part) for part in schema["anyOf"])
    if schema.get("type") == "array" and "items" in schema:
        return f"array of {type_of(schema['items'])}"
    kind = schema.get("type", "object" if "$ref" in schema else "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def limits(schema: dict[str, Any], description: str) -> tuple[str, ...]:
    """Return the limits of a value in words, without a format that its description already shows."""
    found = [text.format(schema[key]) for key, text in LIMITS.items() if key in schema and schema[key] != NOT_BLANK]
    if schema.get("pattern") == NOT_BLANK:
        found.append("not blank")
    if "enum" in schema:
        found.append("one of " + ", ".join(map(str, schema["enum"])))
    shape = SHAPES.get(schema.get("format", ""), schema.get("format", ""))
    if shape and shape not in description:
        found.append(f"format {shape}")
    return tuple(found)
