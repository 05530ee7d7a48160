"""Tells the site of an attempt over HTTP, as jobs/delivery.py does over the broker: again until it is stored."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from .. import worker_info
from ..jobs.delivery import BEAT, Delivery, Word
from ..jobs.spool import ENDED, SpoolReader
from .file_sync import Mirror
from .http_client import Away, Line, NotTaken, Refused


class HttpSink(Delivery):
    """The line between one attempt and the site. Who is refused lets go of the job."""

    def __init__(self, line: Line, known: dict[str, Any], job: str, attempt: int, reader: SpoolReader):
        self.line, self.known, self.job, self.attempt, self.reader = line, known, job, attempt, reader
        self.sent = self.stored = 0
        self.sent_at = -BEAT
        self.advanced_at = time.monotonic()
        self.heard = Word(attempt, 0, "")
        self.refused: Refused | None = None
        self.mirror = Mirror(line, Path(reader.path).parent, attempt)
        self.mirror.start()

    def claim(self, who: str) -> str:
        """The site gave it to nobody else."""
        return who

    def word(self) -> Word | None:
        if self.heard.attempt == self.attempt and self.heard.seq > self.stored:
            self.stored, self.advanced_at = self.heard.seq, time.monotonic()
        return self.heard

    def send(self, events: list[dict[str, Any]]) -> None:
        """The end is told once the site has everything that it is the end of."""
        self.sent_at = time.monotonic()
        if self.reader.ended:
            self.mirror.over.set()
            events = events if self.mirror.whole.is_set() else [one for one in events if one["kind"] != ENDED]
        told = {
            "job": self.job,
            "attempt": self.attempt,
            "events": events,
            "facts": {**self.known, **worker_info.load()},
        }
        try:
            heard = self.line.request("tell/", told)
            self.heard = Word(int(heard["attempt"]), int(heard["seq"]), str(heard["stop"]))
            self.sent += len(events)
        except Refused as error:
            self.refused, self.heard = error, Word(self.attempt + 1, 0, "now")
        except (Away, NotTaken, KeyError, ValueError):
            return  # it is asked again
