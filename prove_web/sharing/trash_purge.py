"""Purge of the trash: what has been there long enough is deleted, files first, then rows, in batches.

An interrupted pass leaves the rest to the next one.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from prove_web.accounts.models import Project
from prove_web.evaluations.models import EvaluationItem
from prove_web.experiments.models import HeldOut, MetricSummary, Point, RolloutGroup, Run, StepRollouts
from prove_web.live.models import Job, JobEvent
from prove_web.servers.models import SessionCall
from prove_web.trajectories.models import Dataset, Trajectory
from training_worker.store.cache import is_digest
from training_worker.store.storage import StorageFailed, get_storage

from .models import Deletion
from .soft_delete import has_unpurged_runs, thing_of

log = logging.getLogger(__name__)
PIECE = 500  # rows deleted at a time, so that nobody waits long for the database
OF_RUN = (Point, HeldOut, MetricSummary, StepRollouts, RolloutGroup)


def purge() -> list[str]:
    """Purge all that is due, and return what it was. What can't be deleted now is retried by the next pass."""
    removed = []
    for deletion in due():
        try:
            remove(deletion)
        except (StorageFailed, OSError) as error:
            log.warning("%s of project %s is not removed yet: %s", deletion, deletion.project_id, error)
        else:
            removed.append(f"{deletion} of project {deletion.project_id}")
            log.info("%s of project %s is removed for good.", deletion, deletion.project_id)
    return removed


def due() -> list[Deletion]:
    """Return due deletions, oldest first, runs before datasets; a dataset stays while runs that used it exist."""
    before = timezone.now() - timedelta(days=settings.GRACE_DAYS)
    rows = Deletion.objects.filter_in_trash().filter(at__lte=before).select_related("project").order_by("-kind", "at")
    return [one for one in rows if not has_unpurged_runs(one)]


def remove(deletion: Deletion) -> None:
    """Purge one deletion. Raises StorageFailed and OSError."""
    found = thing_of(deletion)
    if deletion.kind == Deletion.Kind.PROJECT:
        if found:
            remove_project(found)
        return  # its record goes with it
    if found:
        (remove_run if isinstance(found, Run) else remove_dataset)(found)
    Deletion.objects.filter(pk=deletion.pk).update(purged_at=timezone.now())


def remove_run(run: Any) -> None:
    remove_files(
        run.job, [digest for pair in run.stored_steps.values_list("digest", "tokens_digest") for digest in pair]
    )
    for table in OF_RUN:
        in_pieces(table._base_manager.filter(run=run))
    remove_job(run.job)


def remove_dataset(dataset: Any) -> None:
    remove_files(dataset.job)
    in_pieces(Trajectory._base_manager.filter(dataset=dataset))
    remove_job(dataset.job)


def remove_project(project: Project) -> None:
    for run in Run.everything.filter(project=project).select_related("job"):
        remove_run(run)
    for dataset in Dataset.everything.filter(project=project).select_related("job"):
        remove_dataset(dataset)
    in_pieces(EvaluationItem.objects.filter(evaluation__project=project))
    in_pieces(SessionCall.objects.filter(session__project=project))
    for job in Job.objects.filter(project=project):
        remove_files(job)
        remove_job(job)
    project.delete()


def remove_job(job: Job) -> None:
    """Delete the job and its result; jobs that were to follow it no longer wait."""
    in_pieces(JobEvent.objects.filter(job=job))
    job.waiting.update(after=None)
    job.delete()


def remove_files(job: Job, digests: Sequence[str] = ()) -> None:
    """Delete its folder here, its files in the storage, and cached copies of them. Raises StorageFailed and OSError."""
    if storage := get_storage(settings.PROVE_STORAGE):
        (storage / str(job.id)).clear()
    fetched = Path(settings.PROVE_DATA) / "cache" / "rollouts"
    for digest in filter(is_digest, digests):
        for copy in fetched.glob(f"{digest}-*"):
            copy.unlink(missing_ok=True)
    if job.folder.exists():
        shutil.rmtree(job.folder)


def in_pieces(rows: QuerySet) -> None:
    while found := list(rows.order_by("pk").values_list("pk", flat=True)[:PIECE]):
        rows.model._base_manager.filter(pk__in=found).delete()
