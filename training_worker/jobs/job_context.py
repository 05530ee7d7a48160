"""Context that all kinds of jobs share: how they report events, stop, and refuse."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..core.disk_quota import get_reserved_gb, require_disk_space
from ..core.events import Kind
from ..training.stop_signal import Stop
from .console import Report
from .spool import SpoolWriter

SPEC = "spec.json"  # in the job's folder: the specification
WORKER = "PROVE_WORKER"  # in the child's environment: the name of the worker that started it
FAILED, STOPPED = 1, 75  # the child's exit codes; the parent reports a stop, because it knows the reason
OFTEN = 1.0  # seconds between two reports of progress
Result = dict[str, Any]
log = logging.getLogger(__name__)


class JobRefusedError(Exception):
    """Refusal of work that can't be done as specified; the message says why and what to do."""


class JobStopped(Exception):
    """Exception that leaves the work unfinished, because a stop was requested."""


class EventLog:
    """Reporter of an attempt's events, and of progress at most once in OFTEN seconds of `clock`.

    Work can be stopped where it reports progress.
    """

    def __init__(self, spool: SpoolWriter, stop: Stop, attempt: int, clock: Callable[[], float] = time.monotonic):
        self.spool, self.stop, self.attempt, self.clock = spool, stop, attempt, clock
        self.reported_at = -OFTEN
        self.reached: tuple[float, str] = (0.0, "")  # `done` and `line` of the last report in which all was done
        self.report = Report()
        self.beside: dict[str, Any] = {}  # further data in every progress event

    def __call__(self, kind: Kind, **data: Any) -> None:
        """Store the event for the site, and log it. Raises OSError when the disk is full."""
        self.spool.write(kind, **data)
        if line := self.report.line_of(kind, data):
            log.log(logging.ERROR if data.get("state") == "failed" else logging.INFO, "%s", line)

    def progress(self, done: float, total: float, line: str, seconds_left: float | None = None) -> None:
        """Report progress if a report is due or all is done; the total 0 is unknown. Raises JobStopped, NoDiskSpace."""
        if self.stop.requested:
            raise JobStopped
        at, complete = self.clock(), done >= total > 0
        if at - self.reported_at >= OFTEN or (complete and (done, line) != self.reached):
            require_disk_space("what this job writes", 0, self.spool.path.parent, get_reserved_gb())
            self.reported_at, self.reached = at, (done, line) if complete else self.reached
            self("progress", done=done, total=total, line=line, seconds_left=seconds_left, **self.beside)

    def make_progress_counter(self, line: str, before: int = 0, after: int = 0) -> Callable[[int, int], None]:
        """Return a progress callback for work that counts; `before` and `after` are done and left in addition.

        The pace is measured from its first call, because items done by then may be from an earlier attempt. There is no
        estimate while less than a hundredth is done, because the start of processes would count as work.
        """
        first: tuple[float, int] | None = None

        def count(done: int, total: int) -> None:
            nonlocal first
            now = self.clock()
            began, there = first = first or (now, done)
            pace = (now - began) / (done - there) if done - there >= max(1, total / 100) else None
            left = total - done + after
            self.progress(before + done, before + total + after, line, None if pace is None else pace * left)

        return count


def require_known_settings(spec: Mapping[str, Any], names: set[str]) -> None:
    """Raise JobRefusedError for a specification with settings that this worker does not know."""
    if unknown := sorted(set(spec) - names):
        raise JobRefusedError(f"Unknown settings: {', '.join(unknown)}. Known settings: {', '.join(sorted(names))}.")


def parse_int(
    spec: Mapping[str, Any], name: str, least: int, most: int | None = None, default: int | None = None
) -> int:
    """Return a whole number of a specification. Raises JobRefusedError."""
    value = spec.get(name, default)
    if type(value) is int and value >= least and (most is None or value <= most):
        return value
    limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
    raise JobRefusedError(f"{name} must be a whole number {limits}, not {value!r}.")
