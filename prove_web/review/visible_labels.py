"""Complete reviews that lists and searches may show: those of a blind queue only once their item is settled."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from .models import Item, Review

UNTOLD = {"queue__blind": True, "queue__closed_at": None, "state": Item.State.OPEN}
HIDDEN = Q(**{f"item__{name}": value for name, value in UNTOLD.items()})


def get_visible_reviews() -> QuerySet[Review]:
    return Review.objects.filter(state=Review.State.DONE).exclude(HIDDEN)


def get_visible_items() -> QuerySet[Item]:
    """Return the items whose answers may be shown."""
    return Item.objects.exclude(Q(**UNTOLD))
