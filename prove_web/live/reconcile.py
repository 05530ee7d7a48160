"""Reconciliation of the queue with the database: detects lost attempts and resends lost messages."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from . import message_broker
from .hooks import reconciled
from .jobs import dispatch, give_up, is_dependency_done, lock_job
from .models import AT_WORK, Job, State

SEND_AGAIN = timedelta(seconds=30)


def reconcile() -> None:
    """Reconcile all jobs that have not ended."""
    for job in Job.objects.active().filter(state__in=AT_WORK):
        mark_lost_if_silent(job)
    for job in Job.objects.active().select_related("after").order_by("place"):
        if job.state != State.QUEUED:
            message_broker.tell_worker(job)
        elif is_dependency_done(job) and is_message_lost(job):
            dispatch(job.pk)
    reconciled.send(sender=Job)


def mark_lost_if_silent(job: Job) -> None:
    """Declare an attempt lost if it has been silent for too long."""
    with transaction.atomic():
        job = lock_job(job.pk)
        silence = timezone.now() - (job.beat_at or job.sent_at or job.created_at)
        if job.state not in AT_WORK or silence < job.patience:
            return
        who = "training program" if job.outside else "worker"
        give_up(job, f"No heartbeat from the {who} for {int(silence.total_seconds())} seconds.")
        job.save()
    message_broker.tell_worker(job)
    message_broker.hint(job)


def is_message_lost(job: Job) -> bool:
    """Return whether a queued job's message seems lost: it was never taken, and no job of its queue is running."""
    if job.sent_at is None:
        return True
    busy = any(one.queue == job.queue for one in Job.objects.filter(state__in=AT_WORK).only("kind", "spec"))
    return not busy and timezone.now() - job.sent_at > SEND_AGAIN
