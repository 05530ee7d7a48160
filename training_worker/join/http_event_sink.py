"""Delivery of an attempt's events over HTTP until they are stored, as jobs/delivery.py does over the broker."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ..jobs.delivery import BEAT, Delivery, Word
from ..jobs.spool import ENDED, SpoolReader
from ..worker import worker_info
from .file_sync import Mirror
from .http_client import Line, NotTaken, SiteUnavailableError, WorkerRefusedError


class HttpSink(Delivery):
    """Channel between one attempt and the site. If the site refuses, the job is released."""

    def __init__(self, line: Line, known: dict[str, Any], job: str, attempt: int, reader: SpoolReader):
        self.line, self.known, self.job, self.attempt, self.reader = line, known, job, attempt, reader
        self.sent = self.stored = 0
        self.sent_at = -BEAT
        self.advanced_at = time.monotonic()
        self.heard = Word(attempt, 0, "")
        self.refused: WorkerRefusedError | None = None
        self.mirror = Mirror(line, Path(reader.path).parent, attempt)
        self.mirror.start()

    def claim(self, who: str) -> str:
        """Return `who`, because the site gave the attempt to no other worker."""
        return who

    def word(self) -> Word | None:
        if self.heard.attempt == self.attempt and self.heard.seq > self.stored:
            self.stored, self.advanced_at = self.heard.seq, time.monotonic()
        return self.heard

    def send(self, events: list[dict[str, Any]]) -> None:
        """Send events; the end is held back until the site has all results."""
        self.sent_at = time.monotonic()
        if self.reader.ended:
            self.mirror.over.set()
            events = events if self.mirror.complete.is_set() else [one for one in events if one["kind"] != ENDED]
        body = {
            "job": self.job,
            "attempt": self.attempt,
            "events": events,
            "facts": {**self.known, **worker_info.load()},
        }
        try:
            heard = self.line.request("tell/", body)
            self.heard = Word(int(heard["attempt"]), int(heard["seq"]), str(heard["stop"]))
            self.sent += len(events)
        except WorkerRefusedError as error:
            self.refused, self.heard = error, Word(self.attempt + 1, 0, "now")
        except (SiteUnavailableError, NotTaken, KeyError, ValueError):
            return  # it is sent again later
