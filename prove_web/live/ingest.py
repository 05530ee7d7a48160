"""Ingestion of job events: exactly once, in order, of the current attempt only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import IntegerField, Max
from django.db.models.functions import Cast
from django.utils import timezone

from training_worker.core.json_numbers import finite, separate_nonfinite

from . import message_broker
from .hooks import events_committed, events_stored, metric_kinds, stored_elsewhere
from .jobs import dispatch, finish, lock_job, lose
from .models import Job, JobEvent, State

Event = dict[str, Any]
INTERRUPTED = "interrupted"  # state of an attempt whose worker was shut down


def record(job_id: str, attempt: int, events: Sequence[Event], beat: bool = True) -> Job | None:
    """Store a batch of events, or the part of it that continues the stored ones; None for an unknown job.

    Known events are skipped. After a gap nothing is stored, and the worker resends from the acknowledged number. Events
    of another attempt change nothing.
    """
    with transaction.atomic():
        try:
            job = lock_job(job_id)
        except (Job.DoesNotExist, ValidationError):
            return None
        counts = attempt == job.attempt and not job.ended
        fresh = select_consecutive_events(events, job.seq) if counts else []
        if counts:
            job.beat_at = timezone.now() if beat else job.beat_at
            store(job, fresh)
    message_broker.tell_worker(job)  # acknowledges what is stored, or that the attempt is not current
    if fresh:
        pass_on(job)
        events_committed.send(sender=Job, job=job, events=fresh)
    return job


def select_consecutive_events(events: Sequence[Event], seq: int) -> list[Event]:
    """Return the events numbered seq + 1, seq + 2, ... without a gap."""
    found: list[Event] = []
    for event in sorted(events, key=lambda event: int(event["seq"])):
        if event["seq"] == seq + len(found) + 1:
            found.append({**event, "data": replace_nonfinite_values(event)})
    return found


def replace_nonfinite_values(event: Event) -> Any:
    """Return an event's data with null for NaN and infinity, which JSON columns and browsers do not accept.

    For metrics, the original non-finite values are recorded separately.
    """
    return finite(separate_nonfinite(event["data"]) if event["kind"] in metric_kinds else event["data"])


def store(job: Job, fresh: Sequence[Event]) -> None:
    """Store the events, their metric points, and their effect on the job."""
    if job.failures and find_last_step(fresh) > furthest_before(job):
        job.failures = 0
    JobEvent.objects.bulk_create(
        JobEvent(
            job=job, attempt=job.attempt, seq=e["seq"], kind=e["kind"], at=moment(e["at"]), data=drop_stored_keys(e)
        )
        for e in fresh
    )
    events_stored.send(sender=Job, job=job, events=fresh)
    for event in fresh:
        apply(job, event)
    job.save()


def drop_stored_keys(event: Event) -> dict[str, Any]:
    """Return an event's data without the keys that other tables hold."""
    return {name: value for name, value in event["data"].items() if (event["kind"], name) not in stored_elsewhere}


def find_last_step(events: Sequence[Event]) -> int:
    """Return the last step among the events, or 0."""
    return max((event["data"]["step"] for event in events if event["kind"] == "step"), default=0)


def furthest_before(job: Job) -> int:
    """Return the last step of earlier attempts; reaching it again is not progress."""
    steps = JobEvent.objects.filter(job=job, kind="step", attempt__lt=job.attempt)
    return steps.aggregate(last=Max(Cast("data__step", IntegerField())))["last"] or 0


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def apply(job: Job, event: Event) -> None:
    """Apply one event to the job."""
    job.seq, data = event["seq"], event["data"]
    match event["kind"]:
        case "started":
            job.started_at, job.worker = job.started_at or moment(event["at"]), str(data.get("worker", ""))[:120]
            job.state = State.STARTING if job.state == State.QUEUED else job.state
        case "progress":
            job.done, job.total, job.line = data["done"], data["total"], data["line"][:300]
            job.seconds_left = data["seconds_left"]
            job.state = State.RUNNING if job.state in (State.QUEUED, State.STARTING) else job.state
        case "ended" if data["state"] in (State.LOST, INTERRUPTED):
            lose(job, data["error"], fault=data["state"] == State.LOST)
        case "ended":
            finish(job, State(data["state"]), data["error"])
            job.result = data["result"] or job.result
            job.done = job.total if data["state"] == State.DONE else job.done


def pass_on(job: Job) -> None:
    """Notify others after commit: the sockets, the job's next attempt, and jobs that waited for this one."""
    message_broker.hint(job)
    if job.state == State.QUEUED:
        dispatch(job.pk)
    if job.state == State.DONE:
        message_broker.enqueue_task("prove_web.live.job_done", job=str(job.id))
        for waiting in job.waiting.filter(state=State.QUEUED):
            dispatch(waiting.pk)
