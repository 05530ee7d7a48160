"""Celery tasks of alerts, on the queue `web`."""

from __future__ import annotations

from typing import Any

from django.db import close_old_connections

import prove_web.live.tasks  # noqa: F401  which sets up Django in a Celery process
from prove_web.celery import app

from .dispatch import DELIVER, WATCH, clear_pending_mark

FIRST, LONGEST, TRIES = 15, 900, 6  # seconds before the first retry, maximum delay, and number of retries


@app.task(name=WATCH)
def watch(job: str) -> None:
    """Evaluate the rules on the run of a job."""
    close_old_connections()
    from prove_web.experiments.models import Run

    from .evaluator import watch as held

    clear_pending_mark(job)
    run = Run.objects.select_related("job", "dataset").filter(job=job, deleted_at=None).first()
    if run is not None:
        held(run)


@app.task(name="prove_web.alerts.pass")
def pass_over() -> None:
    """Check conditions without events: silence, disk space, lost jobs and undelivered messages."""
    close_old_connections()
    from .periodic import pass_over as over

    over()


@app.task(name=DELIVER, bind=True, max_retries=TRIES)
def deliver(self: Any, delivery: int) -> None:
    """Deliver to a webhook, and retry after a temporary failure."""
    close_old_connections()
    from .webhook_delivery import NotNow
    from .webhook_delivery import deliver as told

    try:
        told(delivery, last=self.request.retries >= TRIES)
    except NotNow as error:
        raise self.retry(exc=error, countdown=min(LONGEST, FIRST * 2**self.request.retries)) from error
