"""Error catalogue of a tool: the refusals that its code can raise, directly or through functions of its server."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .catalogue import TOOLS
from .core import Server
from .reference import Refusal, codes, message

Function = ast.FunctionDef | ast.AsyncFunctionDef
ARGUMENTS = Refusal("invalid_arguments", "The arguments do not fit its input schema; every fault is named.")
UNKNOWN = Refusal("not_found", "There is no such thing as an id among the arguments names.")


@cache
def refusals_of(tool: str) -> tuple[Refusal, ...]:
    """Return a tool's refusals, sorted by code, each with the first message it is raised with; {...} marks a value.

    They are read from the source, so a refusal that a condition rules out for this tool may be among them. Raises
    KeyError for a tool that is not in the catalogue.
    """
    server = TOOLS[tool][0]
    known, found, seen = functions(server), dict[str, Refusal](), set[str]()
    waiting = [tool]
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for function in known.get(name, ()):
            for call in calls(function):
                if get_callee_name(call) == "ToolError" and len(call.args) > 1:
                    for code in spelt(call.args[0]):
                        found.setdefault(code, Refusal(code, message(call.args[1])))
                waiting.append(get_callee_name(call))
    if TOOLS[tool][1].ids:
        found.setdefault(UNKNOWN.code, UNKNOWN)
    return (*(found[code] for code in sorted(found)), ARGUMENTS)


def spelt(node: ast.expr) -> Iterator[str]:
    """Yield the codes that an expression can evaluate to; for an f-string, its template, such as `order_{status}`."""
    if isinstance(node, ast.JoinedStr):
        yield message(node)
    else:
        yield from codes(node)


@cache
def functions(server: Server[Any]) -> Mapping[str, tuple[Function, ...]]:
    """Return the functions and methods of a server's code by name."""
    found: dict[str, tuple[Function, ...]] = {}
    for path in sorted(Path(inspect.getfile(server.seed)).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, Function):
                found[node.name] = (*found.get(node.name, ()), node)
    return MappingProxyType(found)


def calls(function: Function) -> Iterator[ast.Call]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Call))


def get_callee_name(call: ast.Call) -> str:
    """Return the name of the function or method that is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
