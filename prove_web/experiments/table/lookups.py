"""Comparison of computed numbers with search values, with a tolerance for equality."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.db.models import Expression, FloatField, Q, Value
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, In, IsNull, LessThan, LessThanOrEqual

from prove_web.query_language.ast import BadQuery, FieldComparison

CLOSE = 1e-9  # relative tolerance for equal numbers after averaging in the database
NUMBER = re.compile(r"[-+]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][-+]?[0-9]{1,3})?")
ONE_SIDED = {"<": LessThan, "<=": LessThanOrEqual, ">": GreaterThan, ">=": GreaterThanOrEqual}


def number(comparison: FieldComparison) -> float:
    """Return the number that a comparison asks for. Raises BadQuery for anything else."""
    value = float(comparison.value) if NUMBER.fullmatch(comparison.value) else float("inf")
    if abs(value) > 1e300:
        raise BadQuery(
            comparison.ends,
            f"“{comparison.field}” takes a number, such as {comparison.field}>0.5 or {comparison.field}<1e-4.",
        )
    return value


def close(value: float) -> tuple[float, float]:
    """Return the interval of numbers that count as equal to this one."""
    slack = CLOSE * max(abs(value), 1e-12)
    return value - slack, value + slack


def match_number(found: Expression, op: str, value: float) -> Q:
    """Return a condition on a number, which rows without the number never satisfy."""
    low, high = (Value(one, FloatField()) for one in close(value))
    same = Q(GreaterThanOrEqual(found, low)) & Q(LessThanOrEqual(found, high))
    if op in ONE_SIDED:
        return Q(ONE_SIDED[op](found, low if op in ("<", ">=") else high))
    return Q(IsNull(found, False)) & ~same if op == "!=" else same


def match_any_value(found: Expression, values: Sequence[str]) -> Q:
    return Q(In(found, list(values)))
