"""The tasks of the workers: run a job, and help another worker with one."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from celery import Task
from celery.signals import worker_init

from ..synthesis.shards import own_code
from ..worker.app import app, closing
from ..worker.job_queue import in_turn
from ..worker.logs import JOB
from . import shard_requests
from .delivery import connect
from .supervisor import Attempt

log = logging.getLogger(__name__)
DATA = Path(__file__).parents[2] / "data"


@worker_init.connect  # type: ignore[untyped-decorator]
def know_own_code(**rest: object) -> None:
    """Digest the loaded code before the files change on the disk: this worker keeps running the code it has loaded."""
    own_code()


@app.task(name="training_worker.run_job", bind=True)  # type: ignore[untyped-decorator]
def run_job(task: Task, job: str, attempt: int, kind: str, spec: dict[str, Any]) -> None:
    """Run the next attempt in a child process, and report it event by event.

    The message names a job; jobs ahead of it in its queue go first, and have their own messages.
    """
    named = {"job": job, "attempt": attempt, "kind": kind, "spec": spec}
    queue = str((task.request.delivery_info or {}).get("routing_key") or "")
    for order in in_turn(connect(), queue, named):
        JOB.set(order["job"])
        if Attempt(app, data() / "jobs", **order, closing=closing.is_set, worker=str(task.request.hostname)).run():
            log.info("attempt %s has ended", order["attempt"])
            return


@app.task(name=shard_requests.MAKE_SHARD)  # type: ignore[untyped-decorator]
def make_shard(order: str) -> None:
    """Make a shard of a dataset that another worker is synthesizing."""
    shard_requests.make_shard(data(), order)


def data() -> Path:
    return Path(os.environ.get("PROVE_DATA") or DATA).expanduser().resolve()
