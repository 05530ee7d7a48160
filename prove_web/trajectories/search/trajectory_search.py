"""Search of a project's trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from prove_web.accounts.models import Project
from prove_web.query_language.ast import AllOf, AnyOf, BadQuery, Fault, FieldComparison, Negation, Node, Text
from prove_web.query_language.parsing import parse
from prove_web.review.blinding import Blind

from ..models import Dataset, Trajectory
from .fields import condition, reveals_outcome
from .fulltext import match_texts


@dataclass(frozen=True)
class SearchResult:
    """`rows` without their records; none if there is a `fault`.

    `covered` if rows that await the user's own review are left out, because the query uses what the user may not know
    of them.
    """

    rows: QuerySet[Trajectory]
    fault: Fault | None = None
    covered: bool = False


def search(project: Project, query: str, dataset: Dataset | None = None, blind: Blind | None = None) -> SearchResult:
    """Return the trajectories of a project, or of one dataset, that match a query; an empty query matches all.

    A query by reward or by reviews matches no trajectory that this user has yet to review blind.
    """
    among = [dataset.pk] if dataset else Dataset.objects.complete().filter(project=project).order_by().values("pk")
    rows = Trajectory.objects.filter(dataset__in=among).defer("record", "rollout")
    try:
        tree = parse(query)
        found = rows.filter(build_condition(project, tree))
        if blind is None or not any(map(reveals_outcome, fields_of(tree))):
            return SearchResult(found)
        return SearchResult(blind.exclude_hidden(blind.exclude_hidden(found), "parent"), covered=blind.any)
    except BadQuery as bad:
        return SearchResult(rows.none(), bad.fault)


def can_reveal_outcomes(query: str) -> bool:
    """Return whether the results of a query would reveal rewards or reviews; False for an invalid query."""
    try:
        return any(map(reveals_outcome, fields_of(parse(query))))
    except BadQuery:
        return False


def build_condition(project: Project, node: Node) -> Q:
    """Return the condition of a tree. Raises BadQuery."""
    match node:
        case Text():
            return match_texts([node])
        case FieldComparison():
            return condition(project, node)
        case Negation(inner):
            return ~build_condition(project, inner)
        case AnyOf(nodes):
            one = Q(pk__in=[])
            for each in nodes:
                one |= build_condition(project, each)
            return one
        case AllOf(nodes):
            return each_of(project, nodes)


def each_of(project: Project, nodes: tuple[Node, ...]) -> Q:
    """Return the conjunction of nodes; all texts share a single full-text search."""
    texts = [node for node in nodes if isinstance(node, Text)]
    every = match_texts(texts) if texts else Q()
    for node in nodes:
        if not isinstance(node, Text):
            every &= build_condition(project, node)
    return every


def fields_of(node: Node) -> Iterator[FieldComparison]:
    match node:
        case FieldComparison():
            yield node
        case Negation(inner):
            yield from fields_of(inner)
        case AllOf(nodes) | AnyOf(nodes):
            for each in nodes:
                yield from fields_of(each)
