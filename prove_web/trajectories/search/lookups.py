"""Comparisons of fields: by values, list entries, counts and scores; each makes a condition on rows."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable

from django.db.models import F, Q, Value
from django.db.models.functions import Concat
from django.db.models.lookups import IContains

from prove_web.accounts.models import Project

from .ast import BadQuery, FieldComparison

Rows = Callable[[Project, FieldComparison], Q]
LOOKUPS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte", ":": "exact", "=": "exact"}
CLOSE = 1e-9  # scores that differ by less are equal: 1.3 is a sum of five products
LARGEST = 2**31 - 1
MOST_VALUES = 50  # of one field, because each is compared with every row
WHOLE, NUMBER = re.compile(r"[0-9]{1,18}"), re.compile(r"[-+]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})")


def any_of(asked: FieldComparison) -> list[str]:
    """Return the comma-separated values, any of which may match. Raises BadQuery."""
    found = [one.strip() for one in asked.value.split(",")]
    if len(found) > MOST_VALUES:
        raise BadQuery(asked.ends, f"“{asked.field}” takes at most {MOST_VALUES} values. Remove some.")
    if not all(found):
        raise BadQuery(asked.ends, f"“{asked.field}” needs a value here and after each comma.")
    return found


def listed(column: str) -> Rows:
    """Return a lookup by whole entries of a comma-separated column; `*` at the end of a name matches any rest."""

    def rows(project: Project, asked: FieldComparison) -> Q:
        return either(entry(column, one) for one in any_of(asked))

    return rows


def entry(column: str, name: str) -> Q:
    """Return a condition that is a single comparison, so that an index of the column answers it."""
    whole = Concat(Value(","), F(column), Value(","))
    begins = name.endswith("*")
    return Q(IContains(whole, f",{name[:-1]}" if begins else f",{name},"))


def either(found: Iterable[Q]) -> Q:
    one = Q(pk__in=[])
    for each in found:
        one |= each
    return one


def chosen(column: str, choices: Iterable[str]) -> Rows:
    """Return a lookup by a fixed set of values, which raises BadQuery for others."""
    allowed = tuple(choices)

    def rows(project: Project, asked: FieldComparison) -> Q:
        return Q(**{f"{column}__in": [among(asked, one, allowed) for one in any_of(asked)]})

    return rows


def chosen_entry(column: str, choices: Iterable[str]) -> Rows:
    """Return a lookup by whole entries of a comma-separated column, from a fixed set; it raises BadQuery for others."""
    allowed = tuple(choices)

    def rows(project: Project, asked: FieldComparison) -> Q:
        return either(entry(column, among(asked, one, allowed)) for one in any_of(asked))

    return rows


def among(asked: FieldComparison, value: str, allowed: Iterable[str]) -> str:
    """Return the value as it is stored. Raises BadQuery."""
    names = list(allowed)
    same = value.lower().replace("-", "_")
    if same in names:
        return same
    near = difflib.get_close_matches(same, names, n=1)
    hint = f"Did you mean “{near[0]}”?" if near else f"There are {', '.join(names)}."
    raise BadQuery(asked.ends + asked.value.find(value), f"“{value}” is not a value of “{asked.field}”. {hint}")


def text(column: str) -> Rows:
    def rows(project: Project, asked: FieldComparison) -> Q:
        return Q(**{f"{column}__in": any_of(asked)})

    return rows


def compare_integer(column: str) -> Rows:
    """Return a lookup that compares a count; it raises BadQuery if the value is not a whole number."""

    def rows(project: Project, asked: FieldComparison) -> Q:
        if not WHOLE.fullmatch(asked.value):
            raise BadQuery(asked.ends, f"“{asked.field}” takes a whole number here, such as {asked.field}>2.")
        return compared(column, asked.op, min(int(asked.value), LARGEST))

    return rows


def compared(column: str, op: str, number: int) -> Q:
    if op == "!=":
        return Q(**{f"{column}__isnull": False}) & ~Q(**{column: number})
    return Q(**{f"{column}__{LOOKUPS[op]}": number})


def score(column: str) -> Rows:
    """Return a lookup that compares a reward or component; it raises BadQuery if the value is not a number."""

    def rows(project: Project, asked: FieldComparison) -> Q:
        if not NUMBER.fullmatch(asked.value) or not math.isfinite(float(asked.value)):
            raise BadQuery(asked.ends, f"“{asked.field}” takes a number here, such as {column}<0.5.")
        return close(column, asked.op, float(asked.value))

    return rows


def close(column: str, op: str, value: float) -> Q:
    low, high = value - CLOSE, value + CLOSE
    same = Q(**{f"{column}__gte": low, f"{column}__lte": high})
    one_sided = {"<": ("lt", low), "<=": ("lte", high), ">": ("gt", high), ">=": ("gte", low)}
    if op in one_sided:
        lookup, bound = one_sided[op]
        return Q(**{f"{column}__{lookup}": bound})
    return Q(**{f"{column}__isnull": False}) & ~same if op == "!=" else same
