"""Search of runs with the shared query language, allowing spaces around comparison operators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q

from prove_web.accounts.models import Project
from prove_web.core.parse_int import parse_digits
from prove_web.query_language.ast import AllOf, AnyOf, BadQuery, Fault, FieldComparison, Negation, Node, Text
from prove_web.query_language.field import EQUAL
from prove_web.query_language.parsing import parse

from .fields import field_of, unknown

LOOSE = re.compile(r'"[^"]*"?|(?<=[\w-])\s*(?:<=|>=|!=|[<>=])\s*(?=[^\s()])')


@dataclass(frozen=True)
class SearchCondition:
    """The condition of a query; a query with a `fault` matches nothing."""

    rows: Q
    fault: Fault | None = None


def build_search_condition(project: Project, query: str) -> SearchCondition:
    tight, places = remove_operator_spaces(query)
    try:
        return SearchCondition(build_filter(project, parse(tight, such_as="state:running")))
    except BadQuery as bad:
        at = places[min(bad.fault.at, len(places) - 1)]
        return SearchCondition(Q(pk__in=[]), Fault(at, bad.fault.message))


def parse_search(query: Mapping[str, str]) -> str:
    """Return the search query on one line."""
    return " ".join(query.get("q", "").splitlines())


def remove_operator_spaces(query: str) -> tuple[str, list[int]]:
    """Remove spaces around comparison operators; also return each character's original position."""
    retained = [True] * len(query)
    for found in LOOSE.finditer(query):
        if not found.group().startswith('"'):
            for at in range(*found.span()):
                retained[at] = not query[at].isspace()
    places = [at for at, keep in enumerate(retained) if keep]
    return "".join(query[at] for at in places), [*places, len(query)]


def build_filter(project: Project, node: Node) -> Q:
    """Return the condition of a parsed query. Raises BadQuery."""
    match node:
        case Text(words):
            return match_words(words)
        case FieldComparison():
            return condition(project, node)
        case Negation(inner):
            return ~build_filter(project, inner)
        case AnyOf(nodes):
            one = Q(pk__in=[])
            for each in nodes:
                one |= build_filter(project, each)
            return one
        case AllOf(nodes):
            every = Q()
            for each in nodes:
                every &= build_filter(project, each)
            return every


def condition(project: Project, comparison: FieldComparison) -> Q:
    field = field_of(comparison.field)
    if field is None:
        raise BadQuery(comparison.at, unknown(comparison))
    if comparison.op not in field.ops:
        at = comparison.at + len(comparison.field)
        raise BadQuery(
            at, f"“{comparison.field}” is not a number: it takes {' '.join(EQUAL)}, such as {field.example}."
        )
    found = field.rows(project, comparison)
    return ~found if comparison.op == "!=" and not field.compared else found


def match_words(words: str) -> Q:
    """Match words in a run's name, dataset name, notes or creator; `#12` also matches the number."""
    found = Q(name__icontains=words) | Q(dataset__name__icontains=words) | Q(notes__icontains=words)
    if (number := parse_digits(words.removeprefix("#"))) is not None:
        found |= Q(number=number)
    return found | Q(job__created_by__username__icontains=words)
