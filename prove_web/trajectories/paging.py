"""Keyset pagination of trajectory lists, as fast at the end of a list as at its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Case, F, FloatField, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Coalesce

from prove_web.accounts.models import Project
from prove_web.review.blinding import Blind

from .models import Trajectory

SIZE = 50
MOST_COUNTED = 10_000  # more rows are not counted: that would take as long as reading them all
FAR = 1e9  # stands for a missing score, which comes last in either direction
DEFERRED = ("record", "rollout")
SORTS = {
    "made": "Oldest first",
    "-made": "Newest first",
    "-reward": "Highest reward first",
    "reward": "Lowest reward first",
    "-length": "Most calls first",
    "length": "Fewest calls first",
    "-errors": "Most failed calls first",
}


@dataclass(frozen=True)
class Place:
    """Position of a row in a list: its sort key and its id."""

    key: float
    pk: int


@dataclass(frozen=True)
class Order:
    """Order by one property, and by id if that is equal; a reward that the user may not know yet counts as missing."""

    name: str = "made"
    blind: Blind | None = None

    @property
    def backwards(self) -> bool:
        return self.name.startswith("-")

    def key(self) -> Coalesce:
        """Return the sort key as a number, written so that no index by id is walked past the records instead."""
        column = self.name.removeprefix("-")
        column = "pk" if column == "made" else column
        value = Cast(F(column), FloatField())
        if column == "reward" and self.blind and self.blind.any:
            value = Case(When(pk__in=self.blind.keys, then=None), default=value, output_field=FloatField())
        return Coalesce(value, Value(-FAR if self.backwards else FAR))

    def sort_rows(self, rows: QuerySet[Trajectory], *, turned: bool = False) -> QuerySet[Trajectory]:
        sign = "-" if self.backwards != turned else ""
        return rows.alias(key=self.key()).order_by(f"{sign}key", f"{sign}pk")

    def place(self, pk: int) -> Place:
        """Return the position of a row in the list."""
        if self.name.removeprefix("-") == "made":
            return Place(float(pk), pk)
        return Place(Trajectory.objects.filter(pk=pk).values_list(self.key(), flat=True)[0], pk)

    def select_rows_beyond(
        self, rows: QuerySet[Trajectory], place: Place, *, before: bool = False
    ) -> QuerySet[Trajectory]:
        """Return the rows after a position, nearest first, or those before it."""
        lookup = "lt" if self.backwards != before else "gt"
        later = Q(**{f"key__{lookup}": place.key}) | Q(key=place.key, **{f"pk__{lookup}": place.pk})
        return self.sort_rows(rows, turned=before).filter(later)


def order_of(query: Mapping[str, str], usual: str = "made", blind: Blind | None = None) -> Order:
    """Return the order that a URL requests; an invalid one is ignored."""
    sort = query.get("sort", "")
    return Order(sort if sort in SORTS else usual, blind)


@dataclass(frozen=True)
class Page:
    """A page of a list. `earlier` and `later` are the rows to continue from, None at the ends of the list.

    `count` is of the whole list, up to 10,000; `more` if there are more than that.
    """

    rows: tuple[Trajectory, ...]
    count: int
    more: bool
    earlier: int | None
    later: int | None


def page_of(project: Project, rows: QuerySet[Trajectory], query: Mapping[str, str], order: Order) -> Page:
    """Return the page that a URL requests by `after` or `before`, the id of a row of the project; else the first."""
    pk, before = cursor(project, query)
    found = order.sort_rows(rows) if pk is None else order.select_rows_beyond(rows, order.place(pk), before=before)
    ids = list(found.values_list("pk", flat=True)[: SIZE + 1])
    further, ids = len(ids) > SIZE, ids[:SIZE]
    ids = ids[::-1] if before else ids
    by_id = Trajectory.objects.defer(*DEFERRED).select_related("dataset").in_bulk(ids)
    count = count_rows(rows)
    back, on = (further, True) if before else (pk is not None, further)
    return Page(
        rows=tuple(by_id[pk] for pk in ids if pk in by_id),
        count=min(count, MOST_COUNTED),
        more=count > MOST_COUNTED,
        earlier=ids[0] if ids and back else None,
        later=ids[-1] if ids and on else None,
    )


def cursor(project: Project, query: Mapping[str, str]) -> tuple[int | None, bool]:
    """Return the id of the row that a page starts behind, and whether the page lies before it.

    A row of another project is ignored, because its position would reveal its reward.
    """
    before = "before" in query
    text = query.get("before" if before else "after", "")
    known = text.isascii() and text.isdecimal() and len(text) <= 18
    there = known and Trajectory.objects.filter_by_project(project).filter(pk=int(text)).exists()
    return (int(text), before) if there else (None, False)


def count_rows(rows: QuerySet[Trajectory]) -> int:
    """Return the number of rows; above 10,000 only that there are more."""
    return rows.order_by().values("pk")[: MOST_COUNTED + 1].count()
