"""Export of a queue's labels: a line for each review of the items that a filter matches."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Prefetch, QuerySet

from prove_web.trajectories.search import search
from training_worker.datasets.export.lines import escape_formula

from .blinding import Blind
from .models import Item, Queue, Review
from .schema import read_schema

FIRST = ("position", "dataset", "trajectory", "state", "verdict_settled", "reviewer", "adjudicates", "extra", "review")
TOGETHER = 500  # items in memory at a time
LAST = ("turns", "calls", "corrected", "comment", "seconds", "completed_at")


@dataclass(frozen=True)
class QueueItemFilter:
    """Filter of a queue's items; `reviewer` has complete or skipped reviews in them."""

    state: str = ""
    verdict: str = ""
    reviewer: str = ""
    query: str = ""

    @property
    def address(self) -> dict[str, str]:
        """The URL parameters of the filter, without empty ones."""
        found = {"state": self.state, "verdict": self.verdict, "reviewer": self.reviewer, "q": self.query}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class FilteredItems:
    """Items that match a filter; `fault` is the error of its search, which is then ignored."""

    rows: QuerySet[Item]
    fault: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def filter_items(queue: Queue, by: QueueItemFilter, blind: Blind) -> FilteredItems:
    """Return the matching items of a queue in order, without what the user may not know of them."""
    rows, fault = queue.items.filter(trajectory__dataset__deleted_at=None), ""
    rows = rows.filter(state=by.state) if by.state else rows
    rows = blind.exclude_hidden(rows.filter(verdict=by.verdict), "trajectory") if by.verdict else rows
    if by.reviewer:
        theirs = Review.objects.filter(reviewer__username=by.reviewer, item__queue=queue, adjudicates=False)
        rows = rows.filter(pk__in=theirs.values("item"))
    if by.query:
        found = search(queue.project, by.query, blind=blind)
        fault = f"At character {found.fault.at + 1}: {found.fault.message}" if found.fault else ""
        rows = rows if found.fault else rows.filter(trajectory__in=found.rows.order_by().values("pk"))
    return FilteredItems(rows, fault)


def labels(queue: Queue, rows: QuerySet[Item], blind: Blind) -> Iterator[dict[str, Any]]:
    """Yield each complete or skipped review of these items with the item's state.

    Items that wait for the user's own review are left out.
    """
    reviews = Review.objects.exclude(state=Review.State.DRAFT).select_related("reviewer").order_by("done_at", "pk")
    left = blind.exclude_hidden(rows, "trajectory").select_related("trajectory__dataset").order_by("position")
    left = left.defer("trajectory__record", "trajectory__rollout").prefetch_related(Prefetch("reviews", reviews))
    for item in in_parts(left):
        counted = 0
        for review in item.reviews.all():
            decides = review.state == Review.State.DONE and not review.adjudicates
            counted += decides
            yield line(item, review, extra=decides and counted > queue.reviewers)


def in_parts(items: QuerySet[Item]) -> Iterator[Item]:
    """Yield all items in batches, so that no cursor stays open while a slow client reads."""
    last = 0
    while part := list(items.filter(position__gt=last)[:TOGETHER]):
        yield from part
        last = part[-1].position


def line(item: Item, review: Review, extra: bool) -> dict[str, Any]:
    return {
        "position": item.position,
        "dataset": item.trajectory.dataset.number,
        "trajectory": item.trajectory.example,
        "state": item.state,
        "verdict_settled": item.verdict,
        "reviewer": review.reviewer.get_username() if review.reviewer else "",
        "adjudicates": review.adjudicates,
        "extra": extra,
        "review": review.state,
        "answers": review.answers,
        "comment": review.comment,
        "seconds": round(review.seconds, 1),
        "completed_at": review.done_at.isoformat() if review.done_at else "",
    }


def as_jsonl(lines: Iterable[dict[str, Any]]) -> Iterator[str]:
    for one in lines:
        yield json.dumps(one, ensure_ascii=False) + "\n"


class Echo:
    """File object that returns what is written to it."""

    def write(self, text: str) -> str:
        return text


def as_csv(queue: Queue, lines: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a CSV with a column for each question about the trajectory; other answers are JSON."""
    names = [one.name for one in read_schema(queue.schema).iter_scope_questions("trajectory")]
    write = csv.writer(Echo()).writerow
    yield write([*FIRST, *(f"answer_{name}" if name in (*FIRST, *LAST) else name for name in names), *LAST])
    for one in lines:
        answers = one["answers"]
        known = {**one, **{name: as_cell(answers.get(name, {})) for name in ("turns", "calls", "corrected")}}
        cells = [*(known[name] for name in FIRST), *(as_cell(answers.get(name, "")) for name in names)]
        yield write([escape_formula(cell) for cell in (*cells, *(known[name] for name in LAST))])


def as_cell(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return ", ".join(value) if isinstance(value, list) else value
