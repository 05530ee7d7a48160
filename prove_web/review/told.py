"""The complete reviews that lists and searches tell of: those of a blind queue only once their item is settled."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from .models import Item, Review

HIDDEN = Q(item__queue__blind=True, item__queue__closed_at=None, item__state=Item.State.OPEN)


def told() -> QuerySet[Review]:
    return Review.objects.filter(state=Review.State.DONE).exclude(HIDDEN)
