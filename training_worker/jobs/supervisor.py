"""Supervisor of the child process: starts it, delivers its events, stops it on request, and reports how it ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from celery import Celery

from ..core.events import Ended, Event, get_timestamp
from ..core.stage_cache import StageFailed, only_one
from . import console
from .console import LOG
from .delivery import Delivery
from .failure import CLOSED, explain, explain_signal
from .job_context import SPEC, STOPPED, WORKER
from .spool import ENDED, SpoolReader, SpoolWriter, spool_path

ROOT = Path(__file__).parents[2]
TURN = 0.5  # seconds between two checks of the child
LOCK_PATIENCE = 30.0  # seconds to wait for an older attempt to release the folder
DELIVERY_PATIENCE = 600.0  # seconds to deliver the last events after the child's end
CLOSING_PATIENCE = 5.0  # the same, when the worker is being shut down


class Attempt:
    """One attempt of a job. `closing` tells whether the worker of this name is being shut down."""

    def __init__(
        self,
        app: Celery | None,
        jobs: Path,
        job: str,
        attempt: int,
        kind: str,
        spec: dict[str, Any],
        closing: Callable[[], bool] = lambda: False,
        worker: str = "",
        delivery: Callable[[Any, str, int, SpoolReader], Delivery] = Delivery,
    ):
        self.folder, self.attempt, self.closing, self.worker = jobs / job, attempt, closing, worker
        self.work_order = {"kind": kind, "spec": spec}
        self.reader = SpoolReader(spool_path(self.folder, attempt))
        self.delivery = delivery(app, job, attempt, self.reader)
        self.stopping = ""  # "", "after_step", "now" or "closing"

    def run(self) -> bool:
        """Run the attempt once; if it is requested again, it is claimed, or ended and its events are delivered.

        Return whether there was anything to do: False if another process has claimed it, or it was superseded.
        """
        if not self.is_ours():
            return False
        with ExitStack() as held:
            if not self.lock_folder(held):
                return False
            self.reader.read()
            if self.reader.ended or self.work():
                patience = CLOSING_PATIENCE if self.closing() else DELIVERY_PATIENCE
                until = time.monotonic() + patience
                self.delivery.finish(lambda: time.monotonic() > until)
        return True

    def is_ours(self) -> bool:
        """Return whether no other process runs this attempt. This machine's claim counts only if its lock is held."""
        host = socket.gethostname()
        holder = self.delivery.claim(who := f"{host}:{os.getpid()}")
        return holder == who or (holder.startswith(f"{host}:") and not self.is_held())

    def is_held(self) -> bool:
        try:
            with only_one(self.folder):
                return False
        except StageFailed:
            return True

    def lock_folder(self, held: ExitStack) -> bool:
        """Lock the job's folder once no older attempt has it. Return False after a timeout, or if superseded."""
        until = time.monotonic() + LOCK_PATIENCE
        while time.monotonic() < until and not self.delivery.is_superseded():
            with suppress(StageFailed):
                held.enter_context(only_one(self.folder))
                return True
            self.delivery.pass_on()
            time.sleep(TURN)
        return False

    def work(self) -> bool:
        """Run the child from start to end. Return False if a later attempt took over."""
        try:
            child = self.start()
        except OSError as error:
            self.tell_end("failed", explain(error, self.folder))
            return True
        try:
            if self.look_after(child):
                return False
        finally:
            kill(child)
        self.reader.read()
        if not self.reader.ended:
            self.tell_end(*self.how_it_ended(child.returncode))
        return True

    def start(self) -> subprocess.Popen[bytes]:
        (self.folder / SPEC).write_text(json.dumps(self.work_order), "utf-8")
        options = [f"--attempt={self.attempt}", f"--parent={os.getpid()}"]
        console.write(self.folder, f"attempt {self.attempt} of {self.work_order['kind']} job started")
        with (self.folder / LOG).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "training_worker.jobs", str(self.folder), *options],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", WORKER: self.worker},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def look_after(self, child: subprocess.Popen[bytes]) -> bool:
        """Watch the child until it ends. Return True if a later attempt has taken over."""
        while child.poll() is None:
            self.delivery.pass_on()
            console.trim(self.folder / LOG)
            word = self.delivery.word()
            if word and word.attempt > self.attempt:
                return True
            if word and word.stop and word.attempt == self.attempt:
                self.stop(child, word.stop)
            elif self.closing():
                self.stop(child, "closing")
            with suppress(subprocess.TimeoutExpired):
                child.wait(TURN)
        return False

    def stop(self, child: subprocess.Popen[bytes], level: str) -> None:
        """Kill the child now, or ask it once to stop after this step."""
        if level == "now":
            self.stopping = level
            kill(child)
        elif not self.stopping:
            self.stopping = level
            child.terminate()

    def how_it_ended(self, code: int) -> tuple[Ended, str]:
        """Return the final state and error of a child that has not reported them itself."""
        if self.stopping == "closing":
            return "interrupted", CLOSED
        if self.stopping or code == STOPPED:
            return "stopped", ""
        if code < 0:
            return "lost", explain_signal(signal.Signals(-code))
        last = self.last_line()
        return "failed", explain(None, self.folder) or f"The process ended with exit code {code}. {last}".strip()

    def last_line(self) -> str:
        with (self.folder / LOG).open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - 4_000))
            lines = log.read().decode("utf-8", "replace").strip().splitlines()
        return f"The last line of its log: {lines[-1][:300]}" if lines else ""

    def tell_end(self, state: Ended, error: str) -> None:
        data = {"state": state, "error": error, "result": {}}
        console.write(self.folder, console.describe(ENDED, data), "ERROR" if state in ("failed", "lost") else "INFO")
        try:
            SpoolWriter(self.reader.path).write(ENDED, **data)
        except OSError:  # a full disk; the site still gets the event
            self.reader.events.append(Event(len(self.reader.events) + 1, get_timestamp(), ENDED, data).as_json())


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and all processes that it started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
