"""Bulk load of trajectories in batches, between which others may write; rows are visible only once all are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from .models import Dataset, Trajectory

BATCH, COMMITTED = 500, 2_000  # rows per insert, and per transaction
REMOVED = 1_000  # rows per delete
SILENT = timedelta(minutes=2)  # after which a load counts as dead


class LoadTakeoverError(Exception):
    """Takeover of a load by another process, because this one was silent for too long."""


def claim(dataset: Dataset) -> datetime | None:
    """Claim the load of a dataset.

    Return the time of the claim; None if another claim is valid or the rows are loaded.
    """
    now, free = timezone.now(), Q(loading_at=None) | Q(loading_at__lt=timezone.now() - SILENT)
    rows = Dataset.everything.filter(pk=dataset.pk)
    before = rows.values_list("loading_at", flat=True).get()
    if before is None and dataset.trajectories.exists():
        return None
    return now if rows.filter(free, loading_at=before).update(loading_at=now) else None


def load(dataset: Dataset, rows: Iterator[Trajectory], mark: datetime) -> None:
    """Insert rows as they come, replacing what an earlier load left.

    Raises LoadTakeoverError, and what iterating over `rows` raises.
    """
    clear(dataset)
    try:
        for part in batches(rows, COMMITTED):
            with transaction.atomic():
                mark = renew_claim(dataset, mark, timezone.now())
                Trajectory.objects.bulk_create(part, batch_size=BATCH)
    except LoadTakeoverError:
        raise
    except BaseException:
        clear(dataset)
        renew_claim(dataset, mark, None)
        raise
    renew_claim(dataset, mark, None)


def renew_claim(dataset: Dataset, mark: datetime, now: datetime | None) -> datetime:
    """Renew the claim, or release it if `now` is None. Raises LoadTakeoverError."""
    if not Dataset.everything.filter(pk=dataset.pk, loading_at=mark).update(loading_at=now):
        raise LoadTakeoverError
    return now or mark


def batches(rows: Iterator[Trajectory], size: int) -> Iterator[list[Trajectory]]:
    while part := list(islice(rows, size)):
        yield part


def clear(dataset: Dataset) -> None:
    """Delete the rows of a dataset in batches."""
    while keys := list(dataset.trajectories.order_by("pk").values_list("pk", flat=True)[:REMOVED]):
        Trajectory.objects.filter(pk__in=keys).delete()
