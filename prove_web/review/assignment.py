"""Who is sent to which item: no more people at once than it takes, and never two to the last place.

Places of an item are taken by reviews that are complete, by holds that are not over, and by those it is assigned to.
Whoever left the team, or may no longer annotate, takes none: what was assigned to them goes back to the pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from prove_web.accounts.models import Membership, User
from prove_web.accounts.roles import Action, Role

from .models import Hold, Item, Queue, Review

ANNOTATORS = [role for role in Role if role.covers(Action.ANNOTATE)]
FINISHED = (Review.State.DONE, Review.State.SKIPPED)


def locked(queue: Queue) -> Queue:
    """The queue as it is now, in a transaction that no other of this queue runs beside."""
    return Queue.objects.select_for_update(no_key=True).get(pk=queue.pk)


def able(queue: Queue) -> QuerySet:
    """The ids of those who may review in the queue."""
    rows = Membership.objects.filter(organisation=queue.project.organisation_id, role__in=ANNOTATORS)
    return rows.values("user_id")


def counted(rows: QuerySet) -> Coalesce:
    """How many rows there are for the item at hand."""
    counts = rows.order_by().values("item").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counts, output_field=IntegerField()), Value(0))


def places(queue: Queue, user: User) -> QuerySet[Item]:
    """The queue's items that are there; `taken` counts the places that others take."""
    here, at = {"item": OuterRef("pk")}, {"item": OuterRef("item"), "reviewer": OuterRef("user")}
    now, may = timezone.now(), able(queue)
    reviews = Review.objects.filter(adjudicates=False)
    holds = Hold.objects.filter(until__gt=now)
    done = reviews.filter(**here, state=Review.State.DONE).exclude(reviewer=user)
    held = holds.filter(**here, reviewer__in=may).exclude(reviewer=user)
    assigned = Item.assigned.through.objects.filter(**here, user__in=may).exclude(user=user)
    waiting = assigned.exclude(Exists(holds.filter(**at))).exclude(Exists(reviews.filter(**at, state__in=FINISHED)))
    there = queue.items.filter(trajectory__dataset__deleted_at=None)
    return there.annotate(taken=counted(done) + counted(held) + counted(waiting))


def offered(queue: Queue, user: User) -> Iterator[QuerySet[Item]]:
    """The items that someone may be sent to, the first ones first: those they hold, those of theirs, those of all."""
    finished = Review.objects.filter(item=OuterRef("pk"), reviewer=user, adjudicates=False, state__in=FINISHED)
    rows = places(queue, user).filter(state=Item.State.OPEN).exclude(Exists(finished)).order_by("position")
    yield rows.filter(holds__reviewer=user, holds__until__gt=timezone.now())
    yield rows.filter(assigned=user)
    yield rows.filter(taken__lt=queue.reviewers)


def next_item(queue: Queue, user: User, after: int = 0) -> Item | None:
    """Send someone to the next item that needs them: behind the one at `after`, then from the beginning, then that."""
    with transaction.atomic():
        current = locked(queue)
        if current.closed_at:
            return None
        for part in (Q(position__gt=after), Q(position__lt=after), Q(position=after)):
            for rows in offered(current, user):
                if (item := rows.filter(part).first()) is not None:
                    hold(current, item, user)
                    return item
    return None


def take(item: Item, user: User) -> bool:
    """Hold an item that someone opens by its address; whether there is a place for them."""
    with transaction.atomic():
        queue = locked(item.queue)
        if queue.closed_at or not has_place(queue, item, user):
            return False
        hold(queue, item, user)
    return True


def has_place(queue: Queue, item: Item, user: User) -> bool:
    """Whether an item has a place that nobody else takes, or one that is kept for this person."""
    if item.assigned.filter(pk=user.pk).exists():
        return True
    return places(queue, user).filter(pk=item.pk, taken__lt=queue.reviewers).exists()


def hold(queue: Queue, item: Item, user: User) -> None:
    """Keep the item's place for this person for as long as the queue says, from now."""
    until = timezone.now() + timedelta(minutes=queue.hold_minutes)
    Hold.objects.update_or_create(item=item, reviewer=user, defaults={"until": until})


def release(item: Item, user: User) -> None:
    Hold.objects.filter(item=item, reviewer=user).delete()


def renew(queue: Queue, item: Item, user: User) -> bool:
    """Keep one's place while one works; one that was lost is taken again where there still is room."""
    now = timezone.now()
    mine = Hold.objects.filter(item=item, reviewer=user, until__gt=now)
    if mine.update(until=now + timedelta(minutes=queue.hold_minutes)):
        return True
    if queue.closed_at or not has_place(queue, item, user):
        return False
    hold(queue, item, user)
    return True


def waiting_for(user: User, project: object) -> QuerySet[Item]:
    """The open items of a project that are this person's: begun and not finished, or assigned to them."""
    mine = Review.objects.filter(item=OuterRef("pk"), reviewer=user, adjudicates=False)
    rows = Item.objects.filter(queue__project=project, queue__closed_at=None, state=Item.State.OPEN)
    rows = rows.filter(trajectory__dataset__deleted_at=None)
    begun, finished = Exists(mine.filter(state=Review.State.DRAFT)), Exists(mine.filter(state__in=FINISHED))
    assigned = Exists(Item.assigned.through.objects.filter(item=OuterRef("pk"), user=user))
    rows = rows.annotate(begun=begun, is_mine=assigned, finished=finished).filter(finished=False)
    own = rows.filter(begun=True) | rows.filter(is_mine=True)
    return own.select_related("queue__project__organisation", "trajectory").order_by(
        F("begun").desc(), "queue", "position"
    )
