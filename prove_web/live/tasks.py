"""Celery tasks of the web side; each delegates to another module."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import django
from django.apps import apps
from redis.exceptions import LockError

if not apps.ready:  # in a Celery process; a web process is already set up
    django.setup()

from django.db import close_old_connections

from prove_web.celery import app

from . import ingest as recording
from . import message_broker
from .hooks import job_succeeded
from .models import Job
from .reconcile import reconcile as reconcile_all

LOCK = "prove:reconcile"


@app.task(name="prove_web.live.ingest")
def record(job: str, attempt: int, events: list[dict[str, Any]], beat: bool = True) -> None:
    """Store events from a worker."""
    close_old_connections()
    recording.record(job, attempt, events, beat)


@app.task(name="prove_web.live.reconcile")
def reconcile() -> None:
    """Run one reconciliation pass; a lock prevents concurrent ones."""
    close_old_connections()
    lock = message_broker.broker().lock(LOCK, timeout=60, blocking=False)
    if lock.acquire():
        try:
            reconcile_all()
        finally:
            with suppress(LockError):  # a pass that outlasted the lock
                lock.release()


@app.task(name="prove_web.live.job_done")
def job_done(job: str) -> None:
    """Announce a finished job, so that its results are imported into the database."""
    close_old_connections()
    job_succeeded.send(sender=Job, job=job)
