"""What is wrong with a call, beside the field it is about: what the server refused, mapped to the form's paths."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from mcp_servers.kit import Tool, ToolError
from mcp_servers.kit.arguments import canonical, faults

from .form_codec import below

SHORTEST = 3  # characters of a value that a refusal may be recognised by


def of_refusal(tool: Tool, arguments: dict[str, Any], text: str) -> tuple[dict[str, str], str]:
    """The faults of a refused call by path, and what no field is to blame for.

    Arguments of the wrong form are found as the server finds them; any other refusal belongs to a field when it names
    the value of that field, and of no other.
    """
    try:
        told = json.loads(text)
        code, message = str(told["error"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        return {}, text
    if code == "invalid_arguments" and any(found := unfit(tool, arguments)):
        return found
    named = [path for path, value in leaves(arguments) if len(value) >= SHORTEST and value in message]
    return ({named[0]: message}, "") if len(named) == 1 else ({}, message)


def unfit(tool: Tool, arguments: dict[str, Any]) -> tuple[dict[str, str], str]:
    """Where arguments do not fit the tool's schema, by path, and what no field is to blame for."""
    found = of_form(tool, arguments)
    paths = {path.replace("/", "."): path for path in every_path(arguments, tool.taken)}
    mine = {paths[place]: f"It {problem}." for place, problem in found.items() if place in paths}
    rest = [f"{place} {problem}" for place, problem in found.items() if place not in paths]
    return mine, f"{'; '.join(rest)}." if rest else ""


def of_form(tool: Tool, arguments: dict[str, Any]) -> dict[str, str]:
    """The places at which arguments do not fit the tool's schema, in the server's own words."""
    try:
        tool.validate(canonical(arguments))
    except ValidationError as error:
        found = faults(error.errors(include_url=False, include_input=False))
        return {fault["parameter"]: fault["problem"] for fault in found}
    except ToolError:
        pass
    return {}


def every_path(arguments: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The paths of all fields that a fault may be about: the parameters, and what is inside of those given."""
    own = {name: arguments.get(name) for name in names}
    return [path for path, _ in walk(own, "")]


def walk(value: Any, path: str) -> Iterable[tuple[str, Any]]:
    """Every value with its path, the whole left out."""
    if path:
        yield path, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from walk(part, below(path, name))


def leaves(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    return [(path, value) for path, value in walk(arguments, "") if isinstance(value, str)]
