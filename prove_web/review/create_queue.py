"""Creation of a queue: its number, its items in order, and their assignment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User

from .assignment import lock_queue
from .consensus import settle_or_ask
from .models import Item, Queue
from .notification_rules import tell_assigned

BATCH = 500


@transaction.atomic
def make_queue(
    project: Project, user: User, trajectories: Sequence[int], people: Sequence[User] = (), **what: object
) -> Queue:
    """Create a queue of these trajectories, in order; with people, each item is assigned to as many as it needs."""
    lock_active_project(project)  # two concurrent calls must not get the same number
    number = (project.queues.aggregate(last=Max("number"))["last"] or 0) + 1
    queue = Queue.objects.create(project=project, number=number, created_by=user, pull=not people, **what)
    made = [Item(queue=queue, position=at, trajectory_id=key) for at, key in enumerate(trajectories, start=1)]
    Item.objects.bulk_create(made, batch_size=BATCH)
    assign(queue, people)
    return queue


@transaction.atomic
def assign(queue: Queue, people: Sequence[User]) -> None:
    """Assign every open item of a queue to as many of these people as it needs, in turn; without people, to nobody."""
    queue = lock_queue(queue)
    items = list(queue.items.filter(state=Item.State.OPEN).values_list("pk", flat=True))
    through, each = Item.assigned.through, min(queue.reviewers, len(people))
    through.objects.filter(item__queue=queue, item__state=Item.State.OPEN).delete()
    rows = [
        through(item_id=item, user_id=people[(place * each + offset) % len(people)].pk)
        for place, item in enumerate(items)
        for offset in range(each)
    ]
    through.objects.bulk_create(rows, batch_size=BATCH)
    if rows:
        tell_assigned(queue, people)


def close(queue: Queue, at: datetime | None) -> None:
    """Close a queue to answers, or reopen it."""
    with transaction.atomic():
        current = lock_queue(queue)
        current.closed_at = at
        current.save(update_fields=["closed_at"])


@transaction.atomic
def change(queue: Queue, user: User, **what: object) -> None:
    """Change how a queue is reviewed. With another number of reviewers, its items are settled again.

    Its questions do not change once anyone has answered.
    """
    current = lock_queue(queue)
    before = current.reviewers
    if current.items.filter(reviews__isnull=False).exists():
        what.pop("schema", None)
    for name, value in what.items():
        setattr(current, name, value)
    current.save(update_fields=[*what])
    if current.reviewers != before:
        for item in current.items.filter(reviews__isnull=False).distinct():
            settle_or_ask(item, current.reviewers, user)
