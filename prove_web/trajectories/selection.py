"""Selection of trajectories by a URL: found by a search, in one dataset or in all, or judged in a queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils.http import urlencode

from prove_web.accounts.models import Project
from prove_web.review.blinding import Blind
from prove_web.review.models import Queue
from prove_web.review.schema import VERDICTS

from .filters import TrajectoryFilter
from .models import Dataset, Trajectory
from .search import Fault, search

VERIFIED = "verified"
JUDGED = {VERIFIED: "Accepted and verified by replay", **{one: f"Verdict “{one}”" for one in VERDICTS}}
FIELDS = tuple(name for name in TrajectoryFilter.base_filters if name != "q")


@dataclass(frozen=True)
class Selection:
    """`rows` without their records; `origin` is what a dataset's origin says of how they were selected."""

    rows: QuerySet
    origin: dict[str, Any]
    dataset: Dataset | None = None
    queue: Queue | None = None
    fault: Fault | None = None
    covered: bool = False  # rows that await the user's own blind review are left out

    @property
    def address(self) -> str:
        """The query string of the same selection."""
        flat = {name: value for name, value in self.origin.items() if name != "filter" and value not in ("", None)}
        flat["q"] = flat.pop("query", "")
        return urlencode({**{name: value for name, value in flat.items() if value}, **self.origin.get("filter", {})})

    @property
    def name(self) -> str:
        """A name for a dataset or file of the selection."""
        if self.queue:
            return f"{self.queue.name}: {self.origin['verdict']}"
        narrowed = self.origin.get("query") or " ".join(map(str, self.origin.get("filter", {}).values()))
        return ": ".join(filter(None, [self.dataset.name if self.dataset else "", narrowed])) or "All trajectories"

    @property
    def words(self) -> str:
        """How the rows were selected, on one line."""
        narrowed = [f"{name}: {value}" for name, value in self.origin.get("filter", {}).items()]
        if query := self.origin.get("query"):
            narrowed.insert(0, f"“{query}”")
        return ", ".join(narrowed)


def select_trajectories(project: Project, given: Mapping[str, str], blind: Blind | None = None) -> Selection:
    """Return the selection, without what the user may not know. Raises Http404 for an unknown dataset or queue."""
    if given.get("queue"):
        return select_by_verdict(project, given, blind)
    datasets = Dataset.objects.complete().filter(project=project).select_related("job")
    dataset = one_of(datasets, given.get("dataset"), "dataset")
    query = given.get("q", "").replace("\0", "").strip()
    found = search(project, query, dataset, blind)
    narrowing = {name: given[name] for name in FIELDS if given.get(name)}
    narrowed = TrajectoryFilter(narrowing, rows=found.rows)
    rows = narrowed.qs if narrowing else found.rows
    narrowing = {name: value for name, value in narrowing.items() if name not in narrowed.form.errors}
    origin = {"query": query, "dataset": dataset.number if dataset else None, "filter": narrowing}
    origin = {name: value for name, value in origin.items() if value or name == "query"}
    return Selection(rows, origin, dataset, fault=found.fault, covered=found.covered)


def select_by_verdict(project: Project, given: Mapping[str, str], blind: Blind | None = None) -> Selection:
    """Return the trajectories with a settled verdict of a queue."""
    queue = one_of(Queue.objects.filter(project=project), given.get("queue"), "queue")
    verdict = given.get("verdict") or VERIFIED
    if queue is None or verdict not in JUDGED:
        raise Http404(f"A verdict is one of {', '.join(JUDGED)}.")
    items = queue.items.filter(verdict=VERDICTS[0] if verdict == VERIFIED else verdict)
    if verdict == VERIFIED:
        items = items.filter(trajectory__acceptances__isnull=False)
    items = blind.exclude_hidden(items, "trajectory") if blind else items
    covered = bool(blind and blind.any)
    rows = Trajectory.objects.filter(pk__in=items.values("trajectory")).defer("record", "rollout")
    return Selection(rows, {"queue": queue.number, "verdict": verdict}, queue=queue, covered=covered)


def one_of(rows: QuerySet, number: str | None, what: str) -> Any:
    """Return the row with that number; None if no number is given. Raises Http404."""
    if not number:
        return None
    found = rows.filter(number=int(number)).first() if number.isdecimal() and len(number) < 10 else None
    if found is None:
        raise Http404(f"There is no {what} {number[:20]} here.")
    return found
