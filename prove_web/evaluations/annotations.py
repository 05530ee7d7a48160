"""Annotated evaluation querysets for lists: interval of the overall score, and duration."""

from __future__ import annotations

from django.db.models import F, FloatField, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce, Now

from .models import Evaluation


def annotate_evaluations(rows: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Annotate with `low`, `high` and `took`; the large reports are not read."""
    overall = KeyTransform("overall", KeyTransform("report", "job__result"))
    ended = Coalesce(F("job__ended_at"), Now())
    return (
        rows.select_related("job__created_by", "job__after", "run", "project__organisation")
        .defer("job__result", "job__spec", "settings", "run__config", "run__notes")
        .annotate(
            low=Cast(KeyTextTransform("low", overall), FloatField()),
            high=Cast(KeyTextTransform("high", overall), FloatField()),
            took=ended - F("job__started_at"),
        )
    )
