"""Machines that join, for tests: one that sends requests by hand, one that is a process, and the site over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.servers.basehttp import WSGIServer
from django.db import connections
from django.test import Client
from django.test.testcases import LiveServerThread, QuietWSGIRequestHandler, _StaticFilesHandler

from prove_web.accounts.models import Project
from prove_web.evaluations.models import Evaluation
from prove_web.experiments.models import Run
from prove_web.live import message_broker
from prove_web.live.jobs import enqueue
from prove_web.live.models import Job, Kind
from training_worker.core.trajectory import write_lines
from training_worker.join.compatibility import versions

from .examples import dataset_of, examples

ROOT = Path(__file__).parents[2]
CAN = {"benchmarks": ["worlds", "behaviour"]}  # what a machine that evaluates reports about itself


class Machine:
    """An enrolled machine that sends its requests by hand."""

    def __init__(self, token: str):
        self.client, self.headers = Client(), {"Authorization": f"Bearer {token}"}

    def ask(self, page: str, **payload: Any) -> Any:
        return self.client.post(f"/worker/{page}/", json.dumps(payload), "application/json", headers=self.headers)

    def next(self, **facts: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("next", versions=versions(), facts=facts).json()
        return found

    def put(self, job: Job, name: str, data: bytes, at: int = 0, last: int = 1) -> int:
        where = f"/worker/result/?job={job.pk}&attempt={job.attempt}&name={name}&at={at}&last={last}"
        answer = self.client.post(where, data, "application/octet-stream", headers=self.headers)
        return int(answer.status_code)

    def get(self, job: Job, of: Any, name: str) -> Any:
        params = {"at": job.pk, "attempt": job.attempt, "job": of, "name": name}
        return self.client.get("/worker/file/", params, headers=self.headers)


def run(project: Project, **spec: Any) -> Job:
    """Create a queued run on a data set whose files exist."""
    dataset = dataset_of(project)
    dataset.job.out.mkdir(parents=True)
    write_lines(dataset.job.out / "train.jsonl", examples()[:8])
    config = {"dataset": str(dataset.job_id), "policy": "warm", **spec}
    job = Job.objects.create(project=project, kind=Kind.RUN, title="Run", spec=config)
    number = Run.objects.filter(project=project).count() + 1
    Run.objects.create(project=project, number=number, name="Run", dataset=dataset, job=job, config=config)
    enqueue(job)
    return job


def fresh(job: Job) -> Job:
    job.refresh_from_db()
    return job


def evaluation(project: Project, options: dict[str, str] | None = None, **spec: Any) -> Job:
    """Create a queued evaluation of the shipped policy on a few conversations."""
    made = {"servers": "email", "candidates": "8", "manner": "plain", "count": "3"} | (options or {})
    config = {"project": project.pk, "benchmark": "worlds", "source": "folder", "policy": "warm", "model": "warm"}
    config |= {"categories": ["email"], "parallel": 1, "options": made} | spec
    job = Job.objects.create(project=project, kind=Kind.EVALUATE, title="On worlds", spec=config)
    number = Evaluation.objects.filter(project=project).count() + 1
    about = {"number": number, "name": "On worlds", "benchmark": config["benchmark"], "model": "warm"}
    Evaluation.objects.create(project=project, job=job, **about)
    enqueue(job)
    return job


class Serial(LiveServerThread):
    """One request at a time, since tests share one connection to a database in memory."""

    def _create_server(self, connections_override: Any = None) -> WSGIServer:
        return WSGIServer((self.host, self.port), QuietWSGIRequestHandler, allow_reuse_address=False)


@contextmanager
def over_http() -> Iterator[str]:
    """Serve the site's pages over real HTTP."""
    shared = {}
    for connection in connections.all():
        if connection.vendor == "sqlite" and connection.is_in_memory_db():
            connection.inc_thread_sharing()
            shared[connection.alias] = connection
    thread = Serial("127.0.0.1", _StaticFilesHandler, connections_override=shared)
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    assert thread.error is None, thread.error
    yield f"http://127.0.0.1:{thread.port}/"
    thread.terminate()
    for connection in shared.values():
        connection.dec_thread_sharing()


@contextmanager
def joining(site: str, token: str, data: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a second machine: a process with a data folder of its own and no broker."""
    command = [sys.executable, "-m", "training_worker.join", site, token, "--data", str(data), *options]
    given = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "PROVE_DATA")}
    with data.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=given, stdout=log, stderr=log, start_new_session=True)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def said_of(job: Job, name: str) -> int:
    """Return a field of a job from the broker, because the database is busy with the machine's requests."""
    return int(message_broker.broker().hget(f"prove:job:{job.pk}", name) or 0)
