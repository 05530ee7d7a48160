"""Previous and next trajectory, in the list that a trajectory was found in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from prove_web.query_language.query_string import parse_search
from prove_web.review.blinding import Blind

from .filters import TrajectoryFilter
from .list_params import ALL, address
from .models import Trajectory
from .paging import DEFERRED, Order, order_of
from .search import search

WHERE = ("dataset__project__organisation",)


@dataclass(frozen=True)
class Neighbours:
    """Adjacent trajectories; `back` is the URL of the list, and `address` the query string that stays within it."""

    earlier: Trajectory | None
    later: Trajectory | None
    back: str
    address: str


def neighbours(query: Any, trajectory: Trajectory, blind: Blind | None = None) -> Neighbours:
    """Return the neighbours in the list that the page's query string names: of the whole project or of its dataset."""
    project = trajectory.dataset.project
    if query.get("in") == ALL["in"]:
        rows, order = search(project, parse_search(query), blind=blind).rows, order_of(query, "-made", blind)
        narrowed, page = address(query, **ALL), reverse("trajectories", args=project.path)
        return find_adjacent_trajectories(rows, order, trajectory, f"{page}?{address(query)}", narrowed)
    filter = TrajectoryFilter(query, dataset=trajectory.dataset, blind=blind)
    back = f"{trajectory.dataset.get_absolute_url()}?{filter.address}"
    return find_adjacent_trajectories(filter.qs, order_of(query, blind=blind), trajectory, back, filter.address)


def find_adjacent_trajectories(
    rows: QuerySet[Trajectory], order: Order, at: Trajectory, back: str, narrowed: str
) -> Neighbours:
    place = order.place(at.pk)
    beside = [
        order.select_rows_beyond(rows, place, before=before).values_list("pk", flat=True).first()
        for before in (True, False)
    ]
    found = Trajectory.objects.defer(*DEFERRED).select_related(*WHERE).in_bulk([pk for pk in beside if pk])
    earlier, later = (found.get(pk) for pk in beside)
    return Neighbours(earlier, later, back.removesuffix("?") + "#found", narrowed)
