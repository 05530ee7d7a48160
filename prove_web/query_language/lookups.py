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
INTEGER, NUMBER = re.compile(r"[0-9]{1,18}"), re.compile(r"[-+]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})")


def any_of(comparison: FieldComparison) -> list[str]:
    """Return the comma-separated values, any of which may match. Raises BadQuery."""
    found = [one.strip() for one in comparison.value.split(",")]
    if len(found) > MOST_VALUES:
        raise BadQuery(comparison.ends, f"“{comparison.field}” takes at most {MOST_VALUES} values. Remove some.")
    if not all(found):
        raise BadQuery(comparison.ends, f"“{comparison.field}” needs a value here and after each comma.")
    return found


def match_entries(column: str) -> Rows:
    """Return a lookup by whole entries of a comma-separated column; `*` at the end of a name matches any rest."""

    def build_entries_condition(project: Project, comparison: FieldComparison) -> Q:
        return combine_with_or(entry(column, one) for one in any_of(comparison))

    return build_entries_condition


def entry(column: str, name: str) -> Q:
    """Return a condition that is a single comparison, so that an index of the column answers it."""
    delimited = Concat(Value(","), F(column), Value(","))
    begins = name.endswith("*")
    return Q(IContains(delimited, f",{name[:-1]}" if begins else f",{name},"))


def combine_with_or(found: Iterable[Q]) -> Q:
    one = Q(pk__in=[])
    for each in found:
        one |= each
    return one


def match_choice(column: str, choices: Iterable[str]) -> Rows:
    """Return a lookup by a fixed set of values, which raises BadQuery for others."""
    allowed = tuple(choices)

    def build_choice_condition(project: Project, comparison: FieldComparison) -> Q:
        return Q(**{f"{column}__in": [parse_choice(comparison, one, allowed) for one in any_of(comparison)]})

    return build_choice_condition


def chosen_entry(column: str, choices: Iterable[str]) -> Rows:
    """Return a lookup by whole entries of a comma-separated column, from a fixed set; it raises BadQuery for others."""
    allowed = tuple(choices)

    def build_chosen_entry_condition(project: Project, comparison: FieldComparison) -> Q:
        return combine_with_or(entry(column, parse_choice(comparison, one, allowed)) for one in any_of(comparison))

    return build_chosen_entry_condition


def parse_choice(comparison: FieldComparison, value: str, allowed: Iterable[str]) -> str:
    """Return the value as it is stored. Raises BadQuery."""
    names = list(allowed)
    same = value.lower().replace("-", "_")
    if same in names:
        return same
    near = difflib.get_close_matches(same, names, n=1)
    hint = f"Did you mean “{near[0]}”?" if near else f"There are {', '.join(names)}."
    raise BadQuery(
        comparison.ends + comparison.value.find(value), f"“{value}” is not a value of “{comparison.field}”. {hint}"
    )


def text(column: str) -> Rows:
    def build_text_condition(project: Project, comparison: FieldComparison) -> Q:
        return Q(**{f"{column}__in": any_of(comparison)})

    return build_text_condition


def compare_integer(column: str) -> Rows:
    """Return a lookup that compares a count; it raises BadQuery if the value is not a whole number."""

    def build_integer_condition(project: Project, comparison: FieldComparison) -> Q:
        if not INTEGER.fullmatch(comparison.value):
            raise BadQuery(
                comparison.ends, f"“{comparison.field}” takes a whole number here, such as {comparison.field}>2."
            )
        return compare_number(column, comparison.op, min(int(comparison.value), LARGEST))

    return build_integer_condition


def compare_number(column: str, op: str, number: int) -> Q:
    if op == "!=":
        return Q(**{f"{column}__isnull": False}) & ~Q(**{column: number})
    return Q(**{f"{column}__{LOOKUPS[op]}": number})


def score(column: str) -> Rows:
    """Return a lookup that compares a reward or component; it raises BadQuery if the value is not a number."""

    def build_score_condition(project: Project, comparison: FieldComparison) -> Q:
        if not NUMBER.fullmatch(comparison.value) or not math.isfinite(float(comparison.value)):
            raise BadQuery(comparison.ends, f"“{comparison.field}” takes a number here, such as {column}<0.5.")
        return close(column, comparison.op, float(comparison.value))

    return build_score_condition


def close(column: str, op: str, value: float) -> Q:
    low, high = value - CLOSE, value + CLOSE
    same = Q(**{f"{column}__gte": low, f"{column}__lte": high})
    one_sided = {"<": ("lt", low), "<=": ("lte", high), ">": ("gt", high), ">=": ("gte", low)}
    if op in one_sided:
        lookup, bound = one_sided[op]
        return Q(**{f"{column}__{lookup}": bound})
    return Q(**{f"{column}__isnull": False}) & ~same if op == "!=" else same
