"""BFCL's function documents as chat-API tools, with types cast as in BFCL's own API handler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CAST = {"float": "number", "bool": "boolean", "list": "array", "dict": "object", "tuple": "array"}
SAME = ("integer", "number", "string", "boolean", "array", "object")


def tool_of(document: Mapping[str, Any], hint: str = "") -> dict[str, Any]:
    """Return a function as a tool, with `hint` added to its description."""
    parameters = document["parameters"]
    cast = {name: property_of(value) for name, value in parameters["properties"].items()}
    return {
        "type": "function",
        "function": {
            **document,
            "description": document["description"] + hint,
            "parameters": {**parameters, "type": "object", "properties": cast},
        },
    }


def property_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument. Types that BFCL does not know become strings."""
    given = schema.get("type", "string")
    made = {**schema, "type": type_of(given)}
    if given == "float":
        made |= {"format": "float", "description": schema["description"] + " This is a float type value."}
    if made["type"] in ("array", "object"):
        if "properties" in made:
            made["properties"] = {name: property_of(value) for name, value in made["properties"].items()}
        elif "items" in made:
            made["items"] = items_of(made["items"])
    return made


def items_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list's elements, with types cast one level deep."""
    made = {**schema, "type": type_of(schema["type"])}
    if made["type"] == "array" and "items" in made:
        made["items"] = {**made["items"], "type": type_of(made["items"]["type"])}
    elif made["type"] == "object" and "properties" in made:
        made["properties"] = {name: property_of(value) for name, value in made["properties"].items()}
    return made


def type_of(name: str) -> str:
    return name if name in SAME else CAST.get(name, "string")
