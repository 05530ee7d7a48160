"""Foreground supervision of programs until a stop is requested; then stops all of them."""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType

from .output import Console
from .process import Process
from .program import Program, ServiceError, StopRequested

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TURN = 0.2  # seconds between two checks
ECHO = 1.0  # seconds in which a second signal may repeat the first: make and timeout(1) send it twice
SELF = "prove"


class Supervisor:
    """Programs in start order. Its signal handlers are active within the `with` block."""

    def __init__(self, console: Console, logs: Path) -> None:
        self.console, self.logs = console, logs
        self.processes: list[Process] = []
        self.stop_requested_at: float | None = None
        self.insisted = False

    def __enter__(self) -> Supervisor:
        self.logs.mkdir(parents=True, exist_ok=True)
        self.before = {number: signal.signal(number, self.on_signal) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.stop()
        finally:
            for number, handler in self.before.items():
                signal.signal(number, handler)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Request a stop at the first signal; a second Ctrl-C stops immediately."""
        now = time.monotonic()
        if self.stop_requested_at is None:
            self.stop_requested_at = now
        elif number == signal.SIGINT and now - self.stop_requested_at > ECHO:
            self.insisted = True

    @property
    def stopping(self) -> bool:
        return self.stop_requested_at is not None or self.console.gone

    def print_line(self, line: str) -> None:
        self.console.print_line(SELF, line)

    def start(self, *programs: Program) -> None:
        for program in programs:
            process = Process(program, self.console, self.logs)
            self.processes.append(process)
            if process.is_stopped:
                process.follow_stop_requests()
            else:
                process.start()

    def run(self) -> None:
        """Supervise until a stop is requested. Raises ServiceError if a program keeps exiting."""
        while not self.stopping:
            self.turn()

    def wait(self, ready: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait until `ready`. Raises StopRequested, or ServiceError after a timeout in seconds."""
        until = time.monotonic() + seconds
        while not ready():
            self.go_on()
            if time.monotonic() > until:
                raise ServiceError(f"{what} did not answer within {seconds:.0f} s; see the logs in {self.logs}")
            self.turn()

    def go_on(self) -> None:
        """Raise StopRequested if a stop was requested."""
        if self.stopping:
            raise StopRequested

    def turn(self, wanted: bool = True) -> None:
        """Forward the programs' output and restart those that exited."""
        alive = [process for process in self.processes if process.alive]
        heard, _, _ = select.select([process.stdout() for process in alive], [], [], TURN)
        for process in alive:
            if process.stdout() in heard:
                process.listen()
            else:
                process.output.flush()
        if heard:
            time.sleep(TURN / 4)  # a closed pipe is always readable, so its process is about to exit
        for process in self.processes:
            process.check_and_restart(wanted)

    def stop(self) -> None:
        """Stop all programs in their order, and kill those that do not stop."""
        self.console.quiet = True
        for process in self.processes:
            process.due = None
        for order in sorted({process.program.stop_order for process in self.processes}):
            self.stop_these([process for process in self.processes if process.program.stop_order == order])

    def stop_these(self, processes: list[Process]) -> None:
        stop_requested_at = time.monotonic()
        for process in processes:
            process.terminate()
        while left := [process for process in processes if process.alive]:
            for process in left:
                if self.insisted or time.monotonic() - stop_requested_at > process.program.grace:
                    process.kill()
            self.turn(wanted=False)
