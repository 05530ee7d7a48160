"""A tool's parameters as people read them and fill them in, taken from its input schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_servers.kit import Tool

LONG = 200  # characters that ask for a text box of several lines
SHAPES = {"date": "2026-03-05", "date-time": "2026-03-05T10:00"}
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


@dataclass(frozen=True)
class Parameter:
    """One parameter. `kind` says how it is filled in: text, long, integer, number, choice, boolean or json."""

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

    @property
    def placeholder(self) -> str:
        """What a value looks like, or what holds when none is given."""
        if self.default is not None:
            return f"{self.default} unless given"
        return f"such as {self.examples[0]}" if self.examples else ""


def parameters(tool: Tool) -> list[Parameter]:
    schema = tool.input_schema
    definitions = schema.get("$defs", {})
    return [parameter(tool, name, part, definitions) for name, part in schema["properties"].items()]


def parameter(tool: Tool, name: str, schema: dict[str, Any], definitions: dict[str, Any]) -> Parameter:
    given = when_given(schema, definitions)
    kind = kind_of(given)
    shape = SHAPES.get(given.get("format", ""))
    return Parameter(
        name=name,
        kind=kind,
        type=type_of(given),
        description=schema.get("description", ""),
        required=name in tool.required,
        default=schema.get("default"),
        options=("true", "false") if kind == "boolean" else tuple(given["enum"]) if kind == "choice" else (),
        limits=limits(given, schema.get("description", "")),
        format=given.get("format", ""),
        examples=(shape,) if shape else tuple(map(str, schema.get("examples", ()))) if kind != "json" else (),
        id_type=tool.ids.get(name, ""),
        sensitive=name in tool.sensitive,
    )


def when_given(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value that is there: behind its reference, and without null."""
    if "$ref" in schema:
        return when_given(definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions)
    branches = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    return when_given(branches[0], definitions) if len(branches) == 1 else schema


def kind_of(schema: dict[str, Any]) -> str:
    match schema:
        case {"enum": list(values)} if all(isinstance(value, str) for value in values):
            return "choice"
        case {"type": "string", "maxLength": int(most)} if most > LONG:
            return "long"
        case {"type": "string"}:
            return "text"
        case {"type": "integer" | "number" | "boolean" as kind}:
            return str(kind)
    return "json"


def type_of(schema: dict[str, Any]) -> str:
    """`string`, `array of string`, `string or integer`."""
    if "anyOf" in schema:
        return " or ".join(type_of(part) for part in schema["anyOf"])
    if schema.get("type") == "array" and "items" in schema:
        return f"array of {type_of(schema['items'])}"
    return str(schema.get("type", "object" if "$ref" in schema else "any"))


def limits(schema: dict[str, Any], description: str) -> tuple[str, ...]:
    """What a value must be like, in words; without the shape that its description shows already."""
    found = [text.format(schema[key]) for key, text in LIMITS.items() if key in schema and schema[key] != NOT_BLANK]
    if schema.get("pattern") == NOT_BLANK:
        found.append("not blank")
    if "enum" in schema:
        found.append("one of " + ", ".join(map(str, schema["enum"])))
    shape = SHAPES.get(schema.get("format", ""), schema.get("format", ""))
    if shape and shape not in description:
        found.append(f"written like {shape}")
    return tuple(found)
