"""Supervision of one program: start, output, restart after an exit, stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from . import checks, guard
from .output import Console, Output
from .program import Program, ServiceError

MOST_DEATHS, WITHIN = 5, 60.0  # maximum number of exits within so many seconds before the first longer run
FIRST_DELAY, LONGEST_DELAY = 0.5, 15.0  # seconds until a restart


class Process:
    """A program and its current process, if any.

    Only the main thread may start it, because it dies with that thread.
    """

    def __init__(self, program: Program, console: Console, logs: Path) -> None:
        self.program, self.console = program, console
        self.output = Output(program.name, console, logs, program.noise)
        self.child: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.due: float | None = None  # time of the next start
        self.steady = False
        self.stop_requested_at: float | None = None  # time of a stop request from the site
        self.deaths: deque[float] = deque(maxlen=MOST_DEATHS)

    def start(self) -> None:
        self.due, self.started_at = None, time.monotonic()
        self.output.last.clear()
        try:
            self.child = self.start_child()
        except OSError as error:  # too many processes or open files, or not enough memory
            self.due = time.monotonic() + FIRST_DELAY
            why = f"cannot be started ({error.strerror}); tries again in {FIRST_DELAY:g} s"
            self.console.print_line(self.program.name, why)

    def start_child(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *self.program.command],
            cwd=self.program.folder,
            env=dict(self.program.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            umask=0o077,
            start_new_session=True,  # Ctrl-C is for the supervisor, which stops programs in order
        )
        assert child.stdout
        os.set_blocking(child.stdout.fileno(), False)
        return child

    def stdout(self) -> int:
        assert self.child and self.child.stdout
        return self.child.stdout.fileno()

    @property
    def alive(self) -> bool:
        return self.child is not None

    def listen(self) -> None:
        """Forward its new output."""
        try:
            while chunk := os.read(self.stdout(), 65_536):
                self.output.feed(chunk)
        except BlockingIOError:
            pass

    @property
    def is_stopped(self) -> bool:
        """Return whether the site requests that it does not run."""
        return self.program.stopped is not None and self.program.stopped.exists()

    def check_and_restart(self, wanted: bool = True) -> None:
        """Detect an exit, and restart it when due and still wanted. Raises ServiceError after too many exits."""
        if self.child and (code := self.child.poll()) is not None:
            self.clean_up_child(self.child)
            if wanted and self.stop_requested_at is None:
                self.schedule_restart(code)
        if wanted and self.program.stopped:
            self.follow_stop_requests()
        if wanted and self.due is not None and time.monotonic() >= self.due:
            self.start()

    def follow_stop_requests(self) -> None:
        """Stop it while the site requests so; start it again afterwards."""
        now = time.monotonic()
        if self.is_stopped:
            self.due = None
            if self.stop_requested_at is None:
                self.stop_requested_at = now
                self.console.print_line(self.program.name, "stopped by request from the site")
                self.terminate()
            elif now - self.stop_requested_at > self.program.grace:
                self.kill()
        elif self.stop_requested_at is not None and not self.alive:
            self.stop_requested_at, self.due = None, now
            self.console.print_line(self.program.name, "started by request from the site")

    def clean_up_child(self, child: subprocess.Popen[bytes]) -> None:
        """Kill the processes it left behind, and read its remaining output."""
        self.signal(signal.SIGKILL, group=True)
        self.listen()
        self.output.end()
        for pipe in (child.stdin, child.stdout):
            if pipe:
                pipe.close()
        self.child = None

    def schedule_restart(self, code: int) -> None:
        now = time.monotonic()
        self.steady = self.steady or now - self.started_at >= WITHIN
        self.deaths.append(now)
        recent = [death for death in self.deaths if now - death < WITHIN]
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        full = checks.less_free(self.output.path.parent, checks.FULL)
        if len(recent) >= MOST_DEATHS and not self.steady and not full:
            words = " / ".join(self.output.last) or "nothing"
            raise ServiceError(
                f"{self.program.name} {how}, the {len(recent)}th time within a minute. "
                f"Its last output: {words} (full log: {self.output.path})"
            )
        delay = min(FIRST_DELAY * 2 ** (len(recent) - 1), LONGEST_DELAY)
        self.due = now + delay
        room = f"the disk of {self.output.path.parent} is full: make room; " if full else ""
        self.console.print_line(self.program.name, f"{how}; {room}starts again in {delay:g} s")

    def terminate(self) -> None:
        """Request it to stop."""
        self.due = None
        self.signal(signal.SIGTERM)

    def kill(self) -> None:
        self.due = None
        self.signal(signal.SIGKILL, group=True)

    def signal(self, number: signal.Signals, group: bool = False) -> None:
        if self.child:
            with suppress(ProcessLookupError, PermissionError):
                (os.killpg if group else os.kill)(self.child.pid, number)
