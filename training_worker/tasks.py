"""The tasks of the workers: do a job, and help another worker with one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery.signals import worker_init

from .app import app, closing
from .jobs import helping
from .jobs.parent import Attempt
from .prove.synthesis.shards import own_code

DATA = Path(__file__).parents[1] / "data"


@worker_init.connect  # type: ignore[untyped-decorator]
def know_own_code(**rest: object) -> None:
    """Before it can change on the disk: what this worker makes, it makes with the code that it has loaded."""
    own_code()


@app.task(name="training_worker.run_job")  # type: ignore[untyped-decorator]
def run_job(job: str, attempt: int, kind: str, spec: dict[str, Any]) -> None:
    """Do this attempt at this job, in a child process, and report it event by event."""
    Attempt(app, data() / "jobs", job, attempt, kind, spec, closing.is_set).run()


@app.task(name=helping.MAKE_SHARD)  # type: ignore[untyped-decorator]
def make_shard(order: str) -> None:
    """Make a shard of a data set that another worker is at."""
    helping.make_shard(data(), order)


def data() -> Path:
    return Path(os.environ.get("PROVE_DATA") or DATA).expanduser().resolve()
