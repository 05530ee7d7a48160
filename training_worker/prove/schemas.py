"""Tool schemas as a prompt shows them: names, descriptions, types and choices, nothing a model does not act on."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from mcp_servers.catalogue import TOOLS

SHOWN = ("type", "enum", "items", "properties", "required", "description")


@lru_cache(maxsize=4096)
def tool_schema(name: str, enums_stripped: bool = False) -> dict[str, Any]:
    """A tool in the format chat templates expect; with the knob set, value lists leave the schema."""
    tool = TOOLS[name][1]
    schema = tool.input_schema
    definitions = schema.get("$defs", {})
    properties = {key: compact(part, definitions, enums_stripped) for key, part in schema["properties"].items()}
    parameters = {"type": "object", "properties": properties, "required": list(tool.required)}
    return {
        "type": "function",
        "function": {"name": name, "description": tool.description, "parameters": parameters},
    }


def compact(part: dict[str, Any], definitions: dict[str, Any], enums_stripped: bool) -> dict[str, Any]:
    """One parameter's schema without bounds, defaults and examples; a nullable type as the type itself."""
    if "$ref" in part:
        part = {**definitions[part["$ref"].rsplit("/", 1)[1]], **part}
    if "anyOf" in part:
        inner = next(branch for branch in part["anyOf"] if branch.get("type") != "null")
        part = {**compact(inner, definitions, enums_stripped), **part}
    kept = {key: part[key] for key in SHOWN if key in part and not (key == "enum" and enums_stripped)}
    if "items" in kept:
        kept["items"] = compact(kept["items"], definitions, enums_stripped)
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {k: compact(v, definitions, enums_stripped) for k, v in kept["properties"].items()}
    return kept
