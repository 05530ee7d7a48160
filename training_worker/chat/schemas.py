"""Tool schemas for prompts: names, descriptions, types and enums, without what a model does not need."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from mcp_servers.catalogue import TOOLS

from ..core.trajectory import Example
from .json_schema import tool_of

KEYWORDS = ("type", "enum", "items", "properties", "required", "description")


@lru_cache(maxsize=4096)
def tool_schema(name: str, enums_stripped: bool = False) -> dict[str, Any]:
    """Return a tool's schema in the format of chat templates, without enums if `enums_stripped`."""
    tool = TOOLS[name][1]
    schema = tool.input_schema
    definitions = schema.get("$defs", {})
    properties = {key: compact(part, definitions, enums_stripped) for key, part in schema["properties"].items()}
    parameters = {"type": "object", "properties": properties, "required": list(tool.required)}
    return function(name, tool.description, parameters)


def function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def get_tool_schemas(example: Example) -> tuple[dict[str, Any], ...]:
    """Return the tools shown to a model: the example's own, or the servers'. Raises KeyError for a missing tool."""
    if example.source:
        return tuple(function(tool.name, tool.description, tool.parameters) for tool in example.tools)
    return tuple(tool_schema(name, example.enums_stripped) for name in example.candidates)


def is_ours(example: Example, name: str) -> bool:
    """Return whether a tool that an example calls is one of the built-in servers, by source or by name and schema."""
    if name not in TOOLS or not example.source:
        return name in TOOLS
    own = next((tool.parameters for tool in example.tools if tool.name == name), None)
    return own is not None and any(own == imported_schema(name, stripped) for stripped in (False, True))


@lru_cache(maxsize=4096)
def imported_schema(name: str, enums_stripped: bool) -> dict[str, Any]:
    """Return the parameters of a built-in tool as they are after an export and an import."""
    return tool_of(tool_schema(name, enums_stripped)).parameters


def input_schemas(example: Example, turn: int | None = None) -> dict[str, dict[str, Any]]:
    """Return the input schemas by name of the tools offered up to a user turn (by default the last one).

    Calls are validated against them. Raises KeyError for a missing tool.
    """
    if example.source:
        return {tool.name: tool.parameters for tool in example.tools}
    if turn is not None:
        example = replace(example, arrivals=tuple(one for one in example.arrivals if one.turn <= turn))
    return {name: TOOLS[name][1].input_schema for name in example.offered}


def schemas_digest(names: Iterable[str]) -> str:
    """Return a digest of the schemas of these tools as a model sees them."""
    schemas = [tool_schema(name) for name in sorted(set(names))]
    return blake2b(json.dumps(schemas, sort_keys=True).encode(), digest_size=8).hexdigest()


def compact(part: dict[str, Any], definitions: dict[str, Any], enums_stripped: bool) -> dict[str, Any]:
    """Return a parameter's schema without bounds, defaults and examples; a nullable type becomes the type itself."""
    if "$ref" in part:
        part = {**definitions[part["$ref"].rsplit("/", 1)[1]], **part}
    if "anyOf" in part:
        inner = next(branch for branch in part["anyOf"] if branch.get("type") != "null")
        part = {**compact(inner, definitions, enums_stripped), **part}
    schema = {key: part[key] for key in KEYWORDS if key in part and not (key == "enum" and enums_stripped)}
    if "items" in schema:
        schema["items"] = compact(schema["items"], definitions, enums_stripped)
    if isinstance(schema.get("properties"), dict):
        schema["properties"] = {k: compact(v, definitions, enums_stripped) for k, v in schema["properties"].items()}
    return schema
