"""Arithmetic for tau2's calculators, which would evaluate a model's text as Python."""

import ast
import operator
from collections.abc import Callable

Number = int | float
MOST_LETTERS = 1_000
MOST_BITS = 4_096  # of an integer result
SIGNS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def evaluate_expression(expression: str, *scopes: object) -> Number:
    """Return the value of an arithmetic expression, equal to that of `eval`.

    Raises ValueError for any other expression and for results that are too large, and ZeroDivisionError.
    """
    if len(expression) > MOST_LETTERS:
        raise ValueError("the expression is too long")
    try:
        return value_of(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError("invalid expression") from None


def value_of(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -value_of(inner)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return value_of(inner)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in SIGNS:
            return apply_operator(SIGNS[type(sign)], value_of(left), value_of(right))
    raise ValueError("invalid expression")


def apply_operator(sign: Callable[[Number, Number], Number], left: Number, right: Number) -> Number:
    integral = isinstance(left, int) and isinstance(right, int)
    if sign is operator.pow and integral and int(left).bit_length() * abs(right) > MOST_BITS:
        raise ValueError("the result is too large")
    value = sign(left, right)
    if not isinstance(value, int | float) or (isinstance(value, int) and value.bit_length() > MOST_BITS):
        raise ValueError("the result is no number that can be told")
    return value
