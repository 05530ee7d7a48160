"""Count of open alerts as a query expression."""

from __future__ import annotations

from django.db.models import Count, IntegerField, OuterRef, Subquery
from django.db.models.functions import Coalesce

from .models import Alert


def open_alerts() -> Coalesce:
    """Return the number of a project's open alerts."""
    mine = Alert.objects.filter(project=OuterRef("pk")).state(Alert.State.OPEN).order_by()
    counted = mine.values("project").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)
