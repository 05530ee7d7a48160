"""Storage quotas for uploads of enrolled machines: per job, per machine, and reserved disk space."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from prove_web.core.disk_guard import NoDiskSpace, require_disk_space, size_of
from prove_web.live.jobs import finish, lock_job, publish_job_update
from prove_web.live.models import AT_WORK, Job, State

from .file_transfer import OUT, PARTIAL, NotTaken
from .models import Enrolment

GB = 10**9  # bytes
MEASURED = 60.0  # seconds for which a measurement is valid; later uploads are added to it
STALE = 3600.0  # seconds after which an incomplete upload counts as abandoned
RECENT = timedelta(days=2)


class QuotaExceededError(NotTaken):
    """Error for an exceeded quota; the message says the limit and what to do."""


class DiskFull(NotTaken):
    """Error for a nearly full site disk; the machine retries later."""


class Tally:
    """Cached byte counts per key."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: dict[str, tuple[float, int]] = {}

    def exceeds_limit(self, key: str, more: int, most: int, measure: Callable[[], int]) -> bool:
        """Return whether `more` bytes exceed the limit `most`; the size is measured again before that is reported."""
        now = time.monotonic()
        with self.lock:
            at, size = self.known.get(key, (0.0, most))
        if now - at > MEASURED or size + more > most:
            at, size = now, measure()
        with self.lock:
            if len(self.known) > 10_000:
                self.known.clear()
            self.known[key] = (at, size + more)
        return size + more > most


tally = Tally()


def admit(job: Job, enrolment: Enrolment, size: int) -> None:
    """Admit an upload of `size` bytes. Raises DiskFull, or Full after failing the job."""
    try:
        require_disk_space("what a machine sends", size)
    except NoDiskSpace as error:
        raise DiskFull(f"{error} The machine retries once there is room.") from None
    most = (settings.JOB_GB * GB, settings.MACHINE_GB * GB)
    if tally.exceeds_limit(f"job {job.pk}", size, most[0], lambda: size_of([job.folder])):
        why = f"“{enrolment}” uploaded more than {settings.JOB_GB} GB for this job, the limit per job."
        fail(job, f"{why} Keep fewer checkpoints or rollouts; the site operator can raise it (PROVE_JOB_GB).")
    if tally.exceeds_limit(f"machine {enrolment.pk}", size, most[1], lambda: size_of(folders(enrolment))):
        why = f"“{enrolment}” uploaded more than {settings.MACHINE_GB} GB, the limit per machine."
        fail(job, f"{why} Delete runs of this machine; the site operator can raise it (PROVE_MACHINE_GB).")


def folders(enrolment: Enrolment) -> Iterator[Path]:
    """Yield the folders of the jobs that the machine ran last."""
    for job in Job.objects.filter(project__organisation=enrolment.organisation_id, worker=enrolment.worker):
        yield job.folder


@transaction.atomic
def end(job_id: object, why: str) -> None:
    job = lock_job(job_id)
    if job.state in AT_WORK:
        finish(job, State.FAILED, why)
        job.save()
        transaction.on_commit(lambda: publish_job_update(job))


def fail(job: Job, why: str) -> None:
    """Fail the job with a reason, which the machine receives at its next request. Raises Full."""
    end(job.pk, why)
    delete_incomplete_uploads(job)
    raise QuotaExceededError(why)


def delete_incomplete_uploads(job: Job, age: float = 0.0) -> int:
    """Delete incomplete uploads not modified for `age` seconds; return their number."""
    before, found = time.time() - age, [*job.folder.glob(f"*{PARTIAL}"), *(job.folder / OUT).rglob(f"*{PARTIAL}")]
    stale = [file for file in found if file.is_file() and not file.is_symlink() and file.stat().st_mtime <= before]
    for file in stale:
        file.unlink(missing_ok=True)
    return len(stale)


def tidy_all() -> int:
    """Delete incomplete uploads of dead machines in recent jobs of teams with machines; return their number."""
    jobs = Job.objects.filter(project__organisation__enrolments__isnull=False).distinct()
    lately = jobs.exclude(ended_at__lt=timezone.now() - RECENT)
    return sum(delete_incomplete_uploads(job, STALE) for job in lately.only("id"))
