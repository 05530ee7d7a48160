"""Page of a trajectory list: the text, reward and reviews of each row, and the facets to filter by."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from prove_web.accounts.models import Project
from prove_web.query_language.ast import AllOf, AnyOf, FieldComparison, format_query
from prove_web.query_language.parsing import parse
from prove_web.review.acceptance_status import AcceptanceStatus, standings
from prove_web.review.blinding import Blind
from prove_web.review.models import Comment, Item
from prove_web.review.visible_labels import get_visible_reviews
from training_worker.reward import PAPER

from .choices import FEATURES, KINDS, SPLITS
from .metadata import Row, row_of
from .models import Trajectory
from .paging import Page

MAX_VALUES = 12
TITLES = {"server": "Server", "kind": "Kind", "feature": "Difficulty", "split": "Split", "label": "Label"}
NAMES = {**dict(SPLITS), **dict(KINDS), **dict(FEATURES)}


@dataclass(frozen=True)
class Line:
    """A row of the list.

    `share` is the reward relative to the maximum; `labels` are the settled or given ones, `comments` counts the open
    ones. All of these are empty while the row `waits` for this user's own review.
    """

    row: Row
    share: float | None
    labels: tuple[str, ...] = ()
    comments: int = 0
    standing: AcceptanceStatus | None = None
    waits: bool = False

    @property
    def trajectory(self) -> Trajectory:
        return self.row.trajectory


def build_trajectory_lines(page: Page, blind: Blind) -> list[Line]:
    """Return the rows of a page with their reviews; at most eight queries for any number of rows."""
    waiting = blind.cover(page.rows)
    ids = [row.pk for row in page.rows if row.pk not in waiting]
    comments = Comment.objects.filter(trajectory__in=ids, resolved_at=None, removed_at=None).order_by()
    counts = dict(comments.values_list("trajectory").annotate(Count("pk")))
    labels, accepted = labels_of(ids), standings(row for row in page.rows if row.pk not in waiting)
    return [
        Line(
            row=row_of(row),
            share=share(row.reward),
            labels=tuple(sorted(labels[row.pk])),
            comments=counts.get(row.pk, 0),
            standing=accepted.get(row.pk),
            waits=row.pk in waiting,
        )
        for row in page.rows
    ]


def share(reward: float | None) -> float | None:
    return None if reward is None else min(1.0, max(0.0, reward / PAPER.largest))


def labels_of(ids: Iterable[int]) -> dict[int, set[str]]:
    """Return by trajectory the settled verdict, or those of complete reviews if none is settled."""
    found: dict[int, set[str]] = defaultdict(set)
    settled = Item.objects.filter(trajectory__in=ids).exclude(verdict="")
    for pk, verdict in settled.values_list("trajectory", "verdict"):
        found[pk].add(verdict)
    done = get_visible_reviews().filter(item__trajectory__in=ids, item__verdict="")
    for pk, answers in done.values_list("item__trajectory", "answers"):
        if isinstance(verdict := answers.get("verdict"), str):
            found[pk].add(verdict)
    return found


@dataclass(frozen=True)
class Refinement:
    """A value to filter by, its count, and the query with it.

    `on` if the query has it already; then `query` is the one without it.
    """

    label: str
    count: int
    query: str
    on: bool = False


@dataclass(frozen=True)
class Facet:
    """Values of one property."""

    name: str
    title: str
    values: tuple[Refinement, ...]


def facets(project: Project, rows: QuerySet[Trajectory], query: str, blind: Blind) -> tuple[Facet, ...]:
    """Count all of the rows, in two queries; labels only over those that this user may know."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in TITLES}
    groups = rows.order_by().values_list("split", "kind", "servers", "features").annotate(Count("pk"))
    for split, kind, servers, features, count in groups:
        counts["split"][split] += count
        counts["kind"][kind] += count
        for server in set(filter(None, servers.split(","))):
            counts["server"][server] += count
        for feature in filter(None, features.split(",")):
            counts["feature"][feature] += count
    settled = Item.objects.filter(queue__project=project, trajectory__in=rows.order_by().values("pk")).order_by()
    settled = blind.exclude_hidden(settled, "trajectory")
    for verdict, count in settled.values_list("verdict").annotate(Count("trajectory", distinct=True)):
        counts["label"][verdict] = count
    counts["label"].pop("", None)
    return tuple(Facet(name, TITLES[name], refinements(name, each, query)) for name, each in counts.items() if each)


def refinements(name: str, counts: Counter[str], query: str) -> tuple[Refinement, ...]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MAX_VALUES]
    return tuple(refinement(FieldComparison(name, ":", value), count, query) for value, count in ordered)


def refinement(term: FieldComparison, count: int, query: str) -> Refinement:
    node = parse(query)
    parts = node.nodes if isinstance(node, AllOf) else (node,)
    label = NAMES.get(term.value, term.value)
    if term in parts:
        return Refinement(label, count, format_query(AllOf(tuple(one for one in parts if one != term))), on=True)
    own = f"({query.strip()})" if isinstance(node, AnyOf) else query.strip()
    return Refinement(label, count, f"{own} {format_query(term)}".strip())
