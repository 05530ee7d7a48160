"""Console log of a job: what its attempts print, log and report, in one file of bounded size.

The child's standard output and error are this file, so that what C libraries and the child's own children write is in
it too. The parent opens each attempt with a line and writes how it ended.
"""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

LOG = "log.txt"  # in the job's folder
MOST = 32_000_000  # bytes; of a longer log the older half is removed
OFTEN = 10.0  # seconds between two progress lines that differ only in their counts
FORMAT, TIME = "%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ"
IOLBF = 1  # of stdio.h: C's buffer is written at the end of each line
MEASURED = ("reward", "loss", "grad_norm", "entropy", "success", "goal_success", "step_s")  # of the metrics of a step


def configure(own: int = logging.INFO) -> None:
    """Send this process's logs, warnings and crashes to standard error; `own` is the level of the project's loggers."""
    formatter = logging.Formatter(FORMAT, TIME)
    formatter.converter = time.gmtime
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("training_worker").setLevel(own)
    logging.captureWarnings(True)
    faulthandler.enable()
    with suppress(AttributeError, ValueError, OSError):  # a C library with another name for this stream
        library = ctypes.CDLL(None)
        library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, IOLBF, ctypes.c_size_t(0))


def write(folder: Path, text: str, level: str = "INFO") -> None:
    """Append a line to a job's log; it is lost if the disk is full."""
    with suppress(OSError):
        file = os.open(folder / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, f"{time.strftime(TIME, time.gmtime())} {level} {text}\n".encode())
        finally:
            os.close(file)


def trim(path: Path, most: int = MOST) -> None:
    """Remove the older half of a log that is longer than `most` bytes, at a line's end; its writers must append.

    Lines that are written while this copies the rest may be lost.
    """
    with suppress(OSError):
        if path.stat().st_size <= most:
            return
        with path.open("a+b") as log:
            log.seek(-(most // 2), os.SEEK_END)
            rest = log.read(most // 2)
            log.truncate(0)
            log.write(b"(earlier lines were removed: the log is bounded)\n" + rest[rest.find(b"\n") + 1 :])


class Report:
    """Formatter of an attempt's events as log lines; unchanged progress gives one line every OFTEN seconds."""

    def __init__(self) -> None:
        self.line, self.at = "", -OFTEN

    def line_of(self, kind: str, data: Mapping[str, Any]) -> str:
        """Return the log line of an event; "" if it says nothing new."""
        if kind != "progress":
            return describe(kind, data)
        now, over = time.monotonic(), bool(data["total"]) and data["done"] >= data["total"]
        if data["line"] == self.line and not over and now - self.at < OFTEN:
            return ""
        self.line, self.at = data["line"], now
        return describe(kind, data)


def describe(kind: str, data: Mapping[str, Any]) -> str:
    """Describe an event in one line; "" for one that only the site reads."""
    match kind:
        case "started":
            facts = [f"{name} {data[name]}" for name in ("pid", "device", "worker") if data.get(name)]
            return ", ".join([f"started on {data['host']}", *facts])
        case "progress":
            counts = f" ({data['done']:,.0f} of {data['total']:,.0f})" if data["total"] else ""
            return f"{data['line']}{counts}"
        case "step":
            return f"step {data['step']}: {figures(data)}"
        case "held_out":
            return f"step {data['step']}, held-out worlds: {figures(data)}"
        case "checkpoint":
            return f"checkpoint of step {data['step']} written, {data['bytes'] / 1e6:.1f} MB"
        case "rewound":
            return f"resuming from step {data['step']}" if data["step"] else ""
        case "storage":
            return f"rollout storage: {data['error']}" if data["error"] else ""
        case "ended":
            return f"{data['state']}: {data['error']}" if data["error"] else str(data["state"])
    return ""


def figures(data: Mapping[str, Any]) -> str:
    found = ((name, data.get(name)) for name in MEASURED)
    return ", ".join(f"{name} {value:.4g}" for name, value in found if isinstance(value, (int, float)))
