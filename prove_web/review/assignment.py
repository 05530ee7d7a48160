"""Assignment of items to reviewers: no more at the same time than an item needs, and never two for the last place.

Places of an item are taken by complete reviews, by active holds, and by assignments. People who left the team, or may
no longer annotate, take no place: items assigned to them return to the pool.
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


def lock_queue(queue: Queue) -> Queue:
    """Lock the queue for this transaction and return its current state."""
    return Queue.objects.select_for_update(no_key=True).get(pk=queue.pk)


def get_eligible_reviewer_ids(queue: Queue) -> QuerySet:
    """Return the ids of users who may review in the queue."""
    rows = Membership.objects.filter(organisation=queue.project.organisation_id, role__in=ANNOTATORS)
    return rows.values("user_id")


def count_per_item(rows: QuerySet) -> Coalesce:
    """Return the number of rows for the item at hand."""
    counts = rows.order_by().values("item").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counts, output_field=IntegerField()), Value(0))


def places(queue: Queue, user: User) -> QuerySet[Item]:
    """Return the queue's existing items; `taken` counts the places that others take."""
    here, at = {"item": OuterRef("pk")}, {"item": OuterRef("item"), "reviewer": OuterRef("user")}
    now, may = timezone.now(), get_eligible_reviewer_ids(queue)
    reviews = Review.objects.filter(adjudicates=False)
    holds = Hold.objects.filter(until__gt=now)
    done = reviews.filter(**here, state=Review.State.DONE).exclude(reviewer=user)
    held = holds.filter(**here, reviewer__in=may).exclude(reviewer=user)
    assigned = Item.assigned.through.objects.filter(**here, user__in=may).exclude(user=user)
    waiting = assigned.exclude(Exists(holds.filter(**at))).exclude(Exists(reviews.filter(**at, state__in=FINISHED)))
    there = queue.items.filter(trajectory__dataset__deleted_at=None)
    return there.annotate(taken=count_per_item(done) + count_per_item(held) + count_per_item(waiting))


def iter_available_items(queue: Queue, user: User) -> Iterator[QuerySet[Item]]:
    """Yield the items that the user may be sent to, by priority: held by the user, assigned to the user, free."""
    finished = Review.objects.filter(item=OuterRef("pk"), reviewer=user, adjudicates=False, state__in=FINISHED)
    rows = places(queue, user).filter(state=Item.State.OPEN).exclude(Exists(finished)).order_by("position")
    yield rows.filter(holds__reviewer=user, holds__until__gt=timezone.now())
    yield rows.filter(assigned=user)
    yield rows.filter(taken__lt=queue.reviewers)


def next_item(queue: Queue, user: User, after: int = 0) -> Item | None:
    """Hold and return the user's next item: after the one at `after`, then from the start, then that one."""
    with transaction.atomic():
        current = lock_queue(queue)
        if current.closed_at:
            return None
        for part in (Q(position__gt=after), Q(position__lt=after), Q(position=after)):
            for rows in iter_available_items(current, user):
                if (item := rows.filter(part).first()) is not None:
                    hold_item(current, item, user)
                    return item
    return None


def take(item: Item, user: User) -> bool:
    """Hold an item that a user opens by its URL. Return whether it has a place for the user."""
    with transaction.atomic():
        queue = lock_queue(item.queue)
        if queue.closed_at or not has_place(queue, item, user):
            return False
        hold_item(queue, item, user)
    return True


def has_place(queue: Queue, item: Item, user: User) -> bool:
    """Return whether an item has a free place, or one that is reserved for this user."""
    if item.assigned.filter(pk=user.pk).exists():
        return True
    return places(queue, user).filter(pk=item.pk, taken__lt=queue.reviewers).exists()


def hold_item(queue: Queue, item: Item, user: User) -> None:
    """Hold a place at the item for this user, for the queue's lock timeout from now."""
    until = timezone.now() + timedelta(minutes=queue.hold_minutes)
    Hold.objects.update_or_create(item=item, reviewer=user, defaults={"until": until})


def release(item: Item, user: User) -> None:
    Hold.objects.filter(item=item, reviewer=user).delete()


def renew(queue: Queue, item: Item, user: User) -> bool:
    """Renew a hold during work; an expired one is taken again if there still is a place. Return whether there is."""
    now = timezone.now()
    mine = Hold.objects.filter(item=item, reviewer=user, until__gt=now)
    if mine.update(until=now + timedelta(minutes=queue.hold_minutes)):
        return True
    if queue.closed_at or not has_place(queue, item, user):
        return False
    hold_item(queue, item, user)
    return True


def waiting_for(user: User, project: object) -> QuerySet[Item]:
    """Return the user's open items of a project: started and not finished, or assigned."""
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
