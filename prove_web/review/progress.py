"""Progress of a queue: its items by state, and the number and pace of each person's reviews."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from django.db.models import Count

from prove_web.accounts.models import User

from .models import Item, Queue, Review

HOUR = 3600.0


@dataclass(frozen=True)
class QueueProgress:
    """Items of a queue by state."""

    open: int = 0
    conflict: int = 0
    settled: int = 0

    @property
    def total(self) -> int:
        return self.open + self.conflict + self.settled

    @property
    def shares(self) -> list[tuple[str, str, int, float]]:
        """State, title, count and share of all."""
        rows = [(state, title, getattr(self, state)) for state, title in reversed(Item.State.choices)]
        return [(state, title, count, count / self.total if self.total else 0.0) for state, title, count in rows]


@dataclass
class Person:
    """A person's work in a queue. `seconds` has the time of each complete review."""

    user: User
    done: int = 0
    skipped: int = 0
    drafts: int = 0
    conflict: int = 0
    assigned: int = 0
    last_seen: datetime | None = None
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """The median seconds per item, of measured reviews."""
        return median(self.seconds) if self.seconds else None

    @property
    def rate(self) -> float | None:
        """The items per hour of review time."""
        spent = sum(self.seconds)
        return HOUR * len(self.seconds) / spent if spent else None


def standings(queues: Iterable[Queue]) -> dict[int, QueueProgress]:
    """Return the items by state of each of these queues, by id."""
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    rows = Item.objects.filter(queue__in=[queue.pk for queue in queues]).order_by()
    for queue, state, count in rows.values_list("queue", "state").annotate(n=Count("pk")):
        counts[queue][state] = count
    return {queue.pk: QueueProgress(**counts[queue.pk]) for queue in queues}


def people_of(queue: Queue) -> list[Person]:
    """Return everyone who did something in a queue, or has something to do in it."""
    found: dict[int, Person] = {}
    rows = Review.objects.filter(item__queue=queue, adjudicates=False, reviewer__isnull=False)
    names = ("reviewer", "state", "seconds", "saved_at", "item__state")
    for key, state, seconds, at, item in rows.values_list(*names):
        person = found.setdefault(key, Person(User(pk=key)))
        person.last_seen = max(at, person.last_seen or at)
        if state == Review.State.DONE:
            person.done += 1
            person.conflict += item == Item.State.CONFLICT
            person.seconds += [seconds] if seconds else []
        else:
            person.skipped += state == Review.State.SKIPPED
            person.drafts += state == Review.State.DRAFT
    assign = Item.assigned.through.objects.filter(item__queue=queue, item__state=Item.State.OPEN)
    finished = (
        rows.exclude(state=Review.State.DRAFT).filter(item__state=Item.State.OPEN).values_list("item", "reviewer")
    )
    over = set(finished)
    for item, key in assign.values_list("item", "user"):
        found.setdefault(key, Person(User(pk=key))).assigned += (item, key) not in over
    users = User.objects.in_bulk(found)
    for key, person in found.items():
        person.user = users[key]
    return sorted(found.values(), key=lambda person: (-person.done, person.user.get_username()))
