"""Event spool of an attempt on disk: the child appends events, the parent reads the new ones."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from ..core.events import Event, Kind, get_timestamp
from ..core.json_numbers import finite, separate_nonfinite

ENDED: Kind = "ended"
MEASURED: tuple[Kind, ...] = ("step", "held_out")


def spool_path(folder: Path, attempt: int) -> Path:
    return folder / f"events-{attempt}.jsonl"


class SpoolWriter:
    """Writer that appends events, each completely or not at all, and continues the numbers of an existing file."""

    def __init__(self, path: Path):
        reader = SpoolReader(path)
        self.path, self.last = path, len(reader.read())
        if path.exists():
            os.truncate(path, reader.offset)  # removes a line that was cut short

    def write(self, kind: Kind, **data: Any) -> Event:
        """Append an event. Raises OSError if the disk is full; the event is then not in the file."""
        event = Event(
            self.last + 1, get_timestamp(), kind, finite(separate_nonfinite(data) if kind in MEASURED else data)
        )
        line = (json.dumps(event.as_json(), allow_nan=False) + "\n").encode()
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            before = os.fstat(file).st_size
            if os.write(file, line) < len(line):
                os.ftruncate(file, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        finally:
            os.close(file)
        self.last = event.seq
        return event


class SpoolReader:
    """Reader of appended events, except for a last line that a kill cut short. `events[i]` has seq i + 1."""

    def __init__(self, path: Path):
        self.path, self.offset = path, 0
        self.events: list[dict[str, Any]] = []

    def read(self) -> list[dict[str, Any]]:
        """Read new events. Return every event so far."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                fresh = file.read()
        except FileNotFoundError:
            return self.events
        complete = fresh[: fresh.rfind(b"\n") + 1]
        self.offset += len(complete)
        self.events += [json.loads(line) for line in complete.splitlines()]
        return self.events

    @property
    def ended(self) -> bool:
        return bool(self.events) and self.events[-1]["kind"] == ENDED
