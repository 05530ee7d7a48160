"""Parser of the notation in BFCL's system text, `[name(argument=value), ...]`; nothing is evaluated."""

import ast
import operator
from collections.abc import Callable

from .calls import Call, Json

ARITHMETIC: dict[type[ast.operator], Callable[[Json, Json], Json]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class NoCalls(Exception):
    """A text that is not in the notation; most are replies to the user."""


def read_calls(text: str) -> list[Call] | None:
    """Return the calls of a text, or None for a text that is not in the notation.

    As in BFCL, brackets may be missing, positional arguments are dropped, and a bare name is a string. Unlike in BFCL,
    a call inside an argument is not made: such a text is not in the notation.
    """
    text = text.strip("`\n ")
    text = ("" if text.startswith("[") else "[") + text + ("" if text.endswith("]") else "]")
    try:
        node = ast.parse(text.strip().strip("'"), mode="eval").body
        elements = [node] if isinstance(node, ast.Call) else getattr(node, "elts", None)
        if elements is None:
            raise NoCalls
        return [parse_call_node(element) for element in elements]
    except (NoCalls, SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return None


def parse_call_node(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise NoCalls
    if any(one.arg is None for one in node.keywords):
        raise NoCalls
    return name_of(node.func), {str(one.arg): value_of(one.value) for one in node.keywords}


def name_of(node: ast.expr) -> str:
    """Return a name, dotted if it is an attribute."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            return f"{name_of(owner)}.{name}"
    raise NoCalls


def value_of(node: ast.expr | None) -> Json:
    """Return the JSON value of a literal."""
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, bool | int | float | str):
            return value
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if isinstance(value, int | float):
            return -value
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [value_of(part) for part in parts]
        case ast.Dict(keys=keys, values=values):
            return {str(value_of(key)): value_of(value) for key, value in zip(keys, values, strict=True)}
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in ARITHMETIC:
            return ARITHMETIC[type(sign)](number_of(left), number_of(right))
    raise NoCalls


def number_of(node: ast.expr) -> Json:
    value = value_of(node)
    if not isinstance(value, int | float):
        raise NoCalls
    return value
