"""Consensus on an item: settled if its reviewers agree on the verdict, else in conflict.

The first N complete reviews decide; later ones are stored beside them. An adjudicator's review is final.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from prove_web.accounts.models import User

from .acceptance import NotChecked, ReplayDriftError, accept
from .history import decide
from .models import Item, Queue, Review
from .schema import ACCEPT, VERDICT

Decided = tuple[Any, str]  # state and verdict


def get_deciding_reviews(item: Item, reviewers: int) -> list[Review]:
    """Return the reviews that decide: the first complete ones."""
    return list(complete(item).order_by("done_at", "pk")[:reviewers])


def complete(item: Item) -> QuerySet[Review]:
    return item.reviews.filter(adjudicates=False, state=Review.State.DONE)


def adjudication(item: Item) -> Review | None:
    """Return the adjudicator's review that settled the item, or None."""
    found: Review | None = item.reviews.filter(adjudicates=True, state=Review.State.DONE).order_by("-done_at").first()
    return found


def compute_consensus(item: Item, reviewers: int) -> Decided:
    """Return the item's state and verdict according to its reviews."""
    if (last := adjudication(item)) is not None:
        return Item.State.SETTLED, last.answers[VERDICT]
    made = get_deciding_reviews(item, reviewers)
    if len(made) < reviewers:
        return Item.State.OPEN, ""
    verdicts = {review.answers.get(VERDICT) for review in made}
    return (Item.State.SETTLED, verdicts.pop()) if len(verdicts) == 1 else (Item.State.CONFLICT, "")


def settle(item: Item, reviewers: int, user: User, reason: str = "") -> None:
    """Update an item's state from its reviews, and verify an accepted trajectory.

    Raises what `accept` raises, such as Drifted; the surrounding transaction then rolls back.
    """
    state, verdict = compute_consensus(item, reviewers)
    last = adjudication(item)
    settler = last.reviewer if last else None
    if [item.state, item.verdict, item.settled_by] == [state, verdict, settler]:
        return
    was_accepted = item.verdict == ACCEPT
    store_item_state(item, state, verdict, settler, user)
    if verdict == ACCEPT and not was_accepted:
        accept(item.trajectory, user, item, reason)
    elif was_accepted and verdict != ACCEPT:
        item.acceptances.all().delete()


def settle_or_ask(item: Item, reviewers: int, user: User) -> None:
    """Settle an item again without anybody to give a reason: a drifted one goes to an adjudicator."""
    try:
        with transaction.atomic():
            settle(item, reviewers, user)
    except (ReplayDriftError, NotChecked):
        store_item_state(item, Item.State.CONFLICT, "", None, user)


def store_item_state(item: Item, state: Any, verdict: str, settler: User | None, user: User) -> None:
    """Store the item's new state after this user's action."""
    before = item.settled_by, item.verdict
    item.state, item.verdict, item.settled_by = state, verdict, settler
    item.settled_at = timezone.now() if state == Item.State.SETTLED else None
    item.save(update_fields=["state", "verdict", "settled_by", "settled_at"])
    decide(item, user, *before)


def find_next_conflict(queue: Queue, after: int = 0) -> Item | None:
    """Return the next item in conflict after a position, or else the first; None if there is none."""
    rows = queue.items.filter(state=Item.State.CONFLICT, trajectory__dataset__deleted_at=None).order_by("position")
    found: Item | None = rows.filter(position__gt=after).first() or rows.first()
    return found
