"""Output of the programs: complete in one log file each, and shortened with a name prefix on the terminal."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

COLOURS = (36, 32, 35, 33, 34, 96, 92, 95)
WIDTH = 10
LARGEST_LOG = 5_000_000  # bytes; a larger log is rotated at the next start
TRACEBACK = "Traceback (most recent call last):"
CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
FOR_NOW = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EAGAIN)  # a line is lost, but the terminal is still there
CONTROL = {code: "?" for code in (*range(9), *range(10, 32), 127)}


class Console:
    """The terminal: prints one line at a time as `name | line`, coloured by name on a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.coloured = self.stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self.json = os.environ.get("PROVE_LOG") == "json"
        self.names: list[str] = []
        self.gone = False  # the terminal is closed
        self.quiet = False  # print only the supervisor's own lines

    def print_line(self, name: str, line: str) -> None:
        prefix = f"{name:<{WIDTH}} |"
        if self.coloured:
            prefix = f"\033[{self.colour(name)}m{prefix}\033[0m"
        try:
            text = as_object(name, line) if self.json else f"{prefix} {line.translate(CONTROL)}"
            print(text, file=self.stream, flush=True)
        except OSError as error:
            self.gone = error.errno not in FOR_NOW
        except ValueError:
            self.gone = True

    def print_output_line(self, name: str, line: str) -> None:
        """Print a line of a program's output."""
        if not self.quiet:
            self.print_line(name, line)

    def colour(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return COLOURS[self.names.index(name) % len(COLOURS)]


def as_object(name: str, line: str) -> str:
    """Return a line as one JSON object with the program's name; existing JSON objects keep their fields."""
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        record = {"timestamp": datetime.now(UTC).isoformat(), "level": "INFO", "message": line.translate(CONTROL)}
    return json.dumps({**record, "program": name})


class Output:
    """Incoming output of one program: the terminal shows a traceback as its last line, the file has all of it."""

    def __init__(self, name: str, console: Console, logs: Path, noise: tuple[str, ...] = ()) -> None:
        self.name, self.console = name, console
        self.noise = re.compile("|".join(map(re.escape, noise))) if noise else None
        self.path = logs / f"{name}.log"
        self.rest = b""
        self.folding = False
        self.held = ""  # last line of a traceback, until it is certain that none follows
        self.last: deque[str] = deque(maxlen=3)
        self.unwritten = 0  # bytes that could not be written to the file
        with suppress(OSError):
            if self.path.stat().st_size > LARGEST_LOG:
                self.path.replace(self.path.with_suffix(".log.old"))

    def feed(self, chunk: bytes) -> None:
        self.write(chunk)
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            self.take(line.decode("utf-8", "replace").rstrip())

    def write(self, chunk: bytes) -> None:
        """Append to the file; report a failure once and continue."""
        try:
            with self.path.open("ab") as file:
                file.write(chunk)
        except OSError as error:
            if not self.unwritten:
                what = f"cannot write {self.path} ({error.strerror}): output is shown only here until it can"
                self.console.print_line(self.name, what)
            self.unwritten += len(chunk)
            return
        if self.unwritten:
            self.console.print_line(self.name, f"writes {self.path} again; {self.unwritten:,} bytes are not in it")
            self.unwritten = 0

    def take(self, line: str) -> None:
        """Show a line, fold it into a traceback, or hold it back."""
        if line == TRACEBACK:
            self.folding, self.held = True, ""
        elif not line or line.startswith(CHAINED) or (self.folding and line[0].isspace()):
            return
        elif self.folding:
            self.folding, self.held = False, line
        else:
            self.flush()
            self.show(line)

    def flush(self) -> None:
        """Show the held-back line because no output follows for now."""
        if self.held:
            self.show(f"{self.held} (traceback in {self.path})")
            self.held = ""

    def end(self) -> None:
        if self.rest:
            self.feed(b"\n")
        self.flush()
        self.folding = False

    def show(self, line: str) -> None:
        if self.noise and self.noise.search(line):
            return
        self.last.append(line)
        self.console.print_output_line(self.name, line)
