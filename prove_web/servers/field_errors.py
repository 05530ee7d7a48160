"""Errors of a call by form field: the server's refusal, mapped to the form's paths."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from mcp_servers.core import Tool, ToolError
from mcp_servers.core.arguments import canonical, faults

from .form_codec import join_path

SHORTEST = 3  # characters of a value that is searched for in a refusal


def of_refusal(tool: Tool, arguments: dict[str, Any], text: str) -> tuple[dict[str, str], str]:
    """Return the errors of a refused call by path, and the rest, which belongs to no field.

    Invalid arguments are located as the server locates them; another refusal belongs to a field if it names that
    field's value and no other's.
    """
    try:
        refusal = json.loads(text)
        code, message = str(refusal["error"]), str(refusal["message"])
    except (ValueError, KeyError, TypeError):
        return {}, text
    if code == "invalid_arguments" and any(found := find_schema_errors(tool, arguments)):
        return found
    named = [path for path, value in list_text_leaves(arguments) if len(value) >= SHORTEST and value in message]
    return ({named[0]: message}, "") if len(named) == 1 else ({}, message)


def find_schema_errors(tool: Tool, arguments: dict[str, Any]) -> tuple[dict[str, str], str]:
    """Return where arguments do not fit the tool's schema, by path, and the rest, which belongs to no field."""
    found = of_form(tool, arguments)
    paths = {path.replace("/", "."): path for path in every_path(arguments, tool.taken)}
    mine = {paths[place]: f"It {problem}." for place, problem in found.items() if place in paths}
    rest = [f"{place} {problem}" for place, problem in found.items() if place not in paths]
    return mine, f"{'; '.join(rest)}." if rest else ""


def of_form(tool: Tool, arguments: dict[str, Any]) -> dict[str, str]:
    """Return the places at which arguments do not fit the tool's schema, with the server's own messages."""
    try:
        tool.validate(canonical(arguments))
    except ValidationError as error:
        found = faults(error.errors(include_url=False, include_input=False))
        return {fault["parameter"]: fault["problem"] for fault in found}
    except ToolError:
        pass
    return {}


def every_path(arguments: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the paths of all fields that can have an error: the parameters, and the parts of given values."""
    own = {name: arguments.get(name) for name in names}
    return [path for path, _ in walk(own, "")]


def walk(value: Any, path: str) -> Iterable[tuple[str, Any]]:
    """Yield every value below the root with its path."""
    if path:
        yield path, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from walk(part, join_path(path, name))


def list_text_leaves(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    return [(path, value) for path, value in walk(arguments, "") if isinstance(value, str)]
