"""Tasks of dataset pages on the queue `files`, which need the database and so can't run on an engine worker."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, close_old_connections, connection, transaction

import prove_web.live.tasks  # noqa: F401  which sets up Django in a Celery process
from prove_web.celery import app
from prove_web.core.disk_guard import NoDiskSpace, require_disk_space
from prove_web.live.error_text import fault
from prove_web.live.ingest import record
from prove_web.live.message_broker import broker
from prove_web.live.models import CURATE, FILES, Job, State
from training_worker.core.events import get_timestamp
from training_worker.core.trajectory import UnreadableData
from training_worker.jobs import console
from training_worker.worker.job_queue import in_turn

OFTEN = 1.0  # seconds between two progress events
BEAT = 10.0  # seconds between two heartbeats

log = logging.getLogger(__name__)


class JobStopped(Exception):
    """Stop of a job that is left as it is: a user requested it, or another attempt has started."""


class JobReporter:
    """Reporter of a job attempt: it sends a worker's events straight to the database and the job's log."""

    def __init__(self, job: Job):
        self.job, self.seq, self.reported_at = job, 0, -OFTEN
        self.report = console.Report()
        self.pace = RemainingTimeEstimator(passes(job.spec))

    def __call__(self, kind: str, **data: Any) -> None:
        """Record an event. Raises JobStopped."""
        self.seq += 1
        event = {"seq": self.seq, "at": get_timestamp(), "kind": kind, "data": data}
        job = record(str(self.job.pk), self.job.attempt, [event])
        self.note(kind, data)
        if job is None or job.attempt != self.job.attempt or job.stop:
            raise JobStopped

    def note(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append the event's line to the job's log."""
        if line := self.report.line_of(kind, data):
            level = "ERROR" if data.get("state") == State.FAILED else "INFO"
            console.write(self.job.folder, line, level)

    def progress(self, done: int, total: int, line: str) -> None:
        """Record progress. Raises JobStopped and NoDiskSpace."""
        at = time.monotonic()
        left = self.pace.estimate_seconds_left(done, total, line, at)
        if at - self.reported_at >= OFTEN:
            self.reported_at = at
            require_disk_space("a dataset")
            self("progress", done=done, total=total, line=line, seconds_left=left)


class RemainingTimeEstimator:
    """Estimate of the remaining time from the time per row so far.

    All rows are processed in several `passes`, each with a line of its own.
    """

    def __init__(self, passes: int):
        self.passes, self.line, self.over, self.began = passes, "", 0, 0.0

    def estimate_seconds_left(self, done: int, total: int, line: str, now: float) -> float | None:
        """Return the remaining seconds; None while too little is known."""
        if not self.line:
            self.began = now
        if line != self.line:
            self.over, self.line = self.over + bool(self.line), line
        gone = self.over * total + done
        if gone < max(1, total / 100):
            return None
        return (now - self.began) / gone * max(0, self.passes * total - gone)


def passes(spec: Mapping[str, Any]) -> int:
    """Return the number of passes: rows are written to files and to the database; a split or a mix first reads them."""
    return 3 if spec.get(CURATE, {}).get("how") in ("split", "mix") else 2


@contextmanager
def sending_heartbeats(job: Job, every: float = BEAT) -> Iterator[None]:
    """Send heartbeats from a thread, because the work reports nothing for minutes while it writes files."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(every):
            try:
                record(str(job.pk), job.attempt, [])
            except DatabaseError as error:
                log.warning("Heartbeat failed: %s", error)
        connection.close()

    thread = threading.Thread(target=beat, name=f"beat of {job.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@app.task(name="prove_web.trajectories.curate", bind=True)
def curate(task: Any, job: str, attempt: int) -> None:
    """Create a dataset from existing trajectories, for the next job in the queue, not always that of the message."""
    close_old_connections()
    for order in in_turn(broker(), FILES, {"job": job, "attempt": attempt}):
        if found := claim_job(**order):
            work(found, str(task.request.hostname or "files-worker"))
            return


def claim_job(job: str, attempt: int) -> Job | None:
    """Claim the job for this attempt; None if the attempt started before."""
    with transaction.atomic():
        found = Job.objects.select_for_update(no_key=True).filter(pk=job, attempt=attempt, state=State.QUEUED).first()
        if found:
            found.state = State.STARTING
            found.save(update_fields=["state"])
    return found


def work(job: Job, worker: str = "files-worker") -> None:
    """Run an attempt of a job, and record how it ended."""
    from prove_web.experiments.rollouts import NoRollouts

    from .bulk_load import clear
    from .dataset_build import fill
    from .models import Dataset
    from .versions import InvalidDataset

    tell, dataset = JobReporter(job), Dataset.objects.select_related("job", "parent__job", "project").get(job=job)
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
        console.write(job.folder, f"attempt {job.attempt} of {job.kind} job started")
        tell("started", host="web", worker=worker)
        with sending_heartbeats(job):
            result = fill(dataset, tell.progress)
        over = {"state": State.DONE, "error": "", "result": result}
    except JobStopped:
        over = {"state": State.STOPPED, "error": "", "result": {}}
    except (InvalidDataset, NoRollouts, NoDiskSpace, UnreadableData) as why:
        over = {"state": State.FAILED, "error": str(why), "result": {}}
    except OSError as error:
        text = f"{error.filename or 'The data folder'}: {error.strerror}. Free space or fix the cause, then resume."
        over = {"state": State.FAILED, "error": text, "result": {}}
    except Exception as error:
        log.exception("The job %s failed", job.pk)
        console.write(job.folder, traceback.format_exc(), "ERROR")
        over = {"state": State.FAILED, "error": fault(error), "result": {}}
    if over["state"] != State.DONE and Job.objects.filter(pk=job.pk, attempt=job.attempt).exists():
        clear(dataset)
        for half in job.out.glob("*.partial"):
            half.unlink(missing_ok=True)
    tell.seq += 1
    tell.note("ended", over)
    record(str(job.pk), job.attempt, [{"seq": tell.seq, "at": get_timestamp(), "kind": "ended", "data": over}])
