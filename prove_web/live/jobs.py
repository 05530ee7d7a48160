"""Job lifecycle operations by users: enqueue, stop, resume. Worker reports are handled in ingest.py."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts import audit
from prove_web.accounts.locks import lock_project

from . import message_broker
from .models import AT_WORK, ENDED, Job, JobEvent, State, StopLevel
from .priority import arrange

log = logging.getLogger(__name__)
MOST_FAILURES = 3  # consecutive attempts lost without progress


class NotNow(Exception):
    """Error for an operation that does not fit the job's state; the message says so."""


def enqueue(job: Job) -> None:
    """Queue a job on commit; it starts once the job that it depends on is done."""
    arrange(job.project_id)
    transaction.on_commit(lambda: dispatch(job.pk))


def dispatch(job_id: Any) -> None:
    """Send a queued job's message unless it waits for another job. A message sent twice starts one attempt only."""
    with transaction.atomic():
        job = lock_job(job_id)
        if job.state != State.QUEUED or not is_dependency_done(job):
            return
        job.sent_at = timezone.now()
        job.save(update_fields=["sent_at"])
    log.info("sent to its queue", extra={"job": str(job.pk)})
    if not message_broker.send(job):
        Job.objects.filter(pk=job.pk, attempt=job.attempt, state=State.QUEUED).update(sent_at=None)


def is_dependency_done(job: Job) -> bool:
    return job.after is None or job.after.state == State.DONE


def lock_job(job_id: Any) -> Job:
    """Return the job, locked until the transaction ends (SQLite locks the whole database)."""
    rows = Job.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("after", "project__organisation").get(pk=job_id)


@transaction.atomic
def request_stop(job: Job, level: str) -> Job:
    """Request a stop. Repeated requests have no effect, except that "now" overrides "after this step"."""
    job = lock_job(job.pk)
    if job.state in ENDED:
        return job
    if job.state == State.QUEUED:
        job.stop = StopLevel(level)
        finish(job, State.STOPPED)
        transaction.on_commit(partial(message_broker.take_back, job.queue, job.pk, job.attempt))
    else:
        if job.stop != StopLevel.NOW:
            job.stop = StopLevel(level)
        job.state = State.STOPPING
    job.save()
    audit.note(None, "stopped", get_job_subject(job), job.project.organisation, level=job.get_stop_display())
    transaction.on_commit(lambda: publish_job_update(job))
    return job


@transaction.atomic
def resume(job: Job) -> Job:
    """Start the next attempt of a stopped, failed or lost job from its last checkpoint.

    Raises NotNow.
    """
    lock_project(job.project_id)
    job = lock_job(job.pk)
    if getattr(get_job_subject(job), "deleted_at", None):
        raise NotNow(f"“{job.title}” is in the trash. Restore it, then resume it.")
    if job.state not in (State.STOPPED, State.FAILED, State.LOST):
        raise NotNow(f"“{job.title}” is {job.get_state_display().lower()}; there is nothing to resume.")
    if job.outside:
        raise NotNow(f"“{job.title}” is an external run. Resume it there; it continues here with its next report.")
    job.failures, job.place = 0, timezone.now()
    next_attempt(job)
    job.save()
    audit.note(None, "resumed", get_job_subject(job), job.project.organisation)
    transaction.on_commit(lambda: publish_job_update(job))
    enqueue(job)
    return job


def get_job_subject(job: Job) -> Any:
    """Return the object that users know the job by: its run, dataset or evaluation, else the job."""
    made = (getattr(job, name, None) for name in ("run", "dataset", "evaluation"))
    return next(filter(None, made), job)


def next_attempt(job: Job) -> None:
    """Queue the next attempt of the job; events of earlier attempts are ignored from here on."""
    job.attempt += 1
    job.seq, job.stop, job.error = 0, StopLevel.NONE, ""
    job.state, job.sent_at, job.beat_at, job.ended_at = State.QUEUED, None, None, None
    job.line, job.seconds_left, job.worker = "", None, ""


def give_up(job: Job, why: str, fault: bool = True) -> None:
    """Record the end of an attempt that cannot report it itself, and handle the loss."""
    if not job.outside:  # an external job has a single attempt, which continues
        data = {"state": State.LOST, "error": why, "result": {}}
        about = {"attempt": job.attempt, "seq": job.seq + 1, "kind": "ended", "at": timezone.now()}
        JobEvent.objects.create(job=job, data=data, **about)
    lose(job, why, fault)


def lose(job: Job, why: str, fault: bool = True) -> None:
    """Handle a lost attempt: start the next one unless too many were lost without progress or a stop was requested.

    An external job has a single attempt, which continues with its next report. A worker shutdown is no `fault` and does
    not count.
    """
    job.failures += fault
    if job.stop:
        finish(job, State.STOPPED)
    elif job.outside:
        finish(job, State.LOST, why)
    elif job.failures >= MOST_FAILURES:
        job.stop = StopLevel.NOW  # in case the worker is still alive
        finish(job, State.LOST, f"{why} The {MOST_FAILURES - 1} attempts before it were lost too. Resume to try again.")
    else:
        next_attempt(job)
        job.line = why[:300]  # shown until the next attempt reports its activity


def finish(job: Job, state: State, error: str = "") -> None:
    job.state, job.error, job.ended_at = state, error, timezone.now()
    job.line, job.seconds_left = "", None


def publish_job_update(job: Job) -> None:
    message_broker.tell_worker(job)
    message_broker.hint(job)


def summary(job: Job) -> dict[str, Any]:
    """Return the job fields that pages and sockets show. Needs `project__organisation`."""
    return {
        "id": str(job.id),
        "kind": job.kind,
        "title": job.title,
        "state": job.state,
        "state_name": job.get_state_display(),
        "line": job.line,
        "done": job.done,
        "total": job.total,
        "seconds_left": job.seconds_left,
        "error": job.error,
        "attempt": job.attempt,
        "stop": job.stop,
        "at_work": job.state in AT_WORK,
        "url": reverse("job", args=[*job.project.path, job.id]),
    }
