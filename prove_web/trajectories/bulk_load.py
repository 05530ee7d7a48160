"""Rows put into the database some at a time, so that others write in between, and seen only once all are there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from .models import Dataset, Trajectory

BATCH, COMMITTED = 500, 2_000  # rows in an insert, and before others may write
REMOVED = 1_000  # rows at once
SILENT = timedelta(minutes=2)  # after which a loading is taken for dead


class Taken(Exception):
    """Somebody else loads it, since this loading was silent for too long."""


def claim(dataset: Dataset) -> datetime | None:
    """The right to load a data set, as the time at which it was given; None while another loads it, or it is loaded."""
    now, free = timezone.now(), Q(loading_at=None) | Q(loading_at__lt=timezone.now() - SILENT)
    rows = Dataset.everything.filter(pk=dataset.pk)
    before = rows.values_list("loading_at", flat=True).get()
    if before is None and dataset.trajectories.exists():
        return None
    return now if rows.filter(free, loading_at=before).update(loading_at=now) else None


def load(dataset: Dataset, rows: Iterator[Trajectory], mark: datetime) -> None:
    """Insert rows as they come, in place of what a loading before has left. Raises Taken, and what making them does."""
    clear(dataset)
    try:
        for part in batches(rows, COMMITTED):
            with transaction.atomic():
                mark = renew_claim(dataset, mark, timezone.now())
                Trajectory.objects.bulk_create(part, batch_size=BATCH)
    except Taken:
        raise
    except BaseException:
        clear(dataset)
        renew_claim(dataset, mark, None)
        raise
    renew_claim(dataset, mark, None)


def renew_claim(dataset: Dataset, mark: datetime, now: datetime | None) -> datetime:
    """Go on, or say with None that all is there. Raises Taken."""
    if not Dataset.everything.filter(pk=dataset.pk, loading_at=mark).update(loading_at=now):
        raise Taken
    return now or mark


def batches(rows: Iterator[Trajectory], size: int) -> Iterator[list[Trajectory]]:
    while part := list(islice(rows, size)):
        yield part


def clear(dataset: Dataset) -> None:
    """Remove the rows of a data set, never many at once."""
    while keys := list(dataset.trajectories.order_by("pk").values_list("pk", flat=True)[:REMOVED]):
        Trajectory.objects.filter(pk__in=keys).delete()
