"""Import of the files of a finished dataset job, again if the message about its end was lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.dispatch import receiver
from django.utils import timezone

from prove_web.live import message_broker
from prove_web.live.hooks import job_succeeded, reconciled
from prove_web.live.models import Job, State

from .bulk_load import SILENT
from .load_dataset import import_dataset
from .models import Trajectory

LOAD_AGAIN, LOAD_UNTIL = timedelta(seconds=30), timedelta(days=1)


@receiver(job_succeeded)
def import_files(job: str, **rest: Any) -> None:
    import_dataset(job)


@receiver(reconciled)
def import_files_again(**rest: Any) -> None:
    for job in find_unloaded_jobs():
        message_broker.enqueue_task("prove_web.live.job_done", job=str(job.id))


def find_unloaded_jobs() -> QuerySet[Job]:
    """Return finished dataset jobs that are not imported, because the message about their end was lost."""
    over = {"state": State.DONE, "ended_at__range": (timezone.now() - LOAD_UNTIL, timezone.now() - LOAD_AGAIN)}
    silent = Q(dataset__loading_at__lt=timezone.now() - SILENT)
    empty = ~Exists(Trajectory.objects.filter(dataset__job=OuterRef("pk")))
    return Job.objects.filter(silent | empty, **over, dataset__isnull=False)
