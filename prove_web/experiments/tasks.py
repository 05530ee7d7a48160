"""Celery tasks of runs, on the queue `files`."""

from __future__ import annotations

import prove_web.live.tasks  # noqa: F401  which sets up Django in a Celery process
from prove_web.celery import app
from prove_web.live.models import Job

from .exports import TASK, Export, make


@app.task(name=TASK)
def export(job: str, step: int, merged: bool) -> None:
    make(Export(Job.objects.get(pk=job), step, merged))
