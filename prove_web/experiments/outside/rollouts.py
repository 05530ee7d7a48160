"""Ingestion of an external run's rollouts, stored and indexed like those of internal runs.

The groups of a step may arrive in several requests in order: each request replaces the stored groups from its first
group on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from prove_web.live import message_broker
from prove_web.live.ingest import pass_on
from prove_web.live.jobs import lock_job
from training_worker.core.trajectory import UnreadableData
from training_worker.store.external_rollouts import NAME, ExternalGroup, build_records, read_records_before
from training_worker.store.folder import RolloutFolder
from training_worker.store.record import RolloutRecord
from training_worker.store.storage import StorageFailed, get_storage
from training_worker.store.uploader import bring

from ..models import Run, RunKind
from ..rollout_storage import StoredRun
from .ingest import NotOutside, goes_on, put
from .limits import InvalidRunData, storable

MOST_ROLLOUTS = 2_048  # per step
LONGEST_TEXT = 400_000  # characters of one rollout including its prompt
LARGEST = 2 << 30  # bytes of a run's stored rollouts
log = logging.getLogger(__name__)


def tell_rollouts(run: Run, step: int, groups: Sequence[ExternalGroup], first: int = 1) -> int:
    """Store rollouts of a step with groups numbered from `first`; return their count, or 0 if nothing changed.

    Raises NotOutside and InvalidRunData; then nothing is stored.
    """
    if run.kind != RunKind.OUTSIDE:
        raise NotOutside(f"Run {run.number} is trained here; only its worker can log to it.")
    check(groups)
    folder = RolloutFolder(run.job.out / "rollouts")
    with transaction.atomic():
        job = lock_job(run.job_id)
        others = run.stored_steps.exclude(step=step).aggregate(all=Sum("bytes"))["all"] or 0
        if others > LARGEST:
            raise InvalidRunData(
                f"This run has {others:,} bytes of rollouts, the storage limit. Log fewer steps.", "step"
            )
        known = run.stored_steps.filter(step=step).values_list("digest", flat=True).first()
        records = [*(load_earlier_rollouts(run, step, first) if first > 1 else ()), *build_records(groups, first)]
        if len(records) > MOST_ROLLOUTS:
            raise InvalidRunData(f"A step has at most {MOST_ROLLOUTS:,} rollouts. Log a sample of them.", "groups")
        folder.path.mkdir(parents=True, exist_ok=True)
        stored = folder.store(step, records, tokens="none")
        fresh = stored["digest"] != known
        opened = goes_on(job, fresh)
        job.beat_at, job.done = timezone.now(), max(job.done, step)
        job.total = max(job.total, job.done) if job.total else 0
        put(job, [{"kind": "rollouts", "at": timezone.now().isoformat(), "data": stored}] if fresh else [])
        transaction.on_commit(lambda: upload_pending_files(folder.path, str(job.pk)))
    if fresh:
        pass_on(job)
    elif opened:
        message_broker.hint(job)
    return sum(len(one.attempts) for one in groups) if fresh else 0


def load_earlier_rollouts(run: Run, step: int, first: int) -> list[RolloutRecord]:
    """Return the stored rollouts of the groups before `first`. Raises InvalidRunData if any are missing."""
    try:
        found = read_records_before(StoredRun(run).file(step), first)
    except FileNotFoundError:
        found = []
    except (StorageFailed, UnreadableData, OSError) as why:
        log.warning("Rollouts of run %s, step %s, cannot be read: %s", run.pk, step, why)
        found = []
    if len({one.group for one in found}) < first - 1:
        raise InvalidRunData(f"Groups of step {step} before group {first} are missing. Start with group 1.", "first")
    return found


def check(groups: Sequence[ExternalGroup]) -> None:
    """Raise InvalidRunData for invalid names, overlong rollouts or text that cannot be stored."""
    for number, group in enumerate(groups):
        where = f"groups.{number}"
        if group.name and not NAME.fullmatch(group.name):
            raise InvalidRunData(
                f"“{group.name[:80]}” is not a valid prompt name: use letters, digits and _ . : @ % + -.", where
            )
        prompt = sum(len(one.content) for one in group.prompt)
        for place, one in enumerate(group.attempts):
            texts = [*(each.content for each in one.transcript), *(each.observation for each in one.calls)]
            if prompt + sum(map(len, texts)) > LONGEST_TEXT:
                longest = f"A rollout has at most {LONGEST_TEXT:,} characters, including its prompt. Shorten it."
                raise InvalidRunData(longest, f"{where}.rollouts.{place}")
        if not storable(group):
            raise InvalidRunData("The text contains a null character or half of a surrogate pair.", where)


def upload_pending_files(folder: Path, job: str) -> None:
    """Upload pending files to the storage, if one is configured; failed uploads are retried at the next step."""
    if (storage := get_storage(settings.PROVE_STORAGE)) is None:
        return
    try:
        bring(folder, storage / job / "rollouts")
    except StorageFailed as why:
        log.warning("Rollouts of job %s were not uploaded and remain in its folder: %s", job, why)
