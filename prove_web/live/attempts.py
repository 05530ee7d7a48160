"""A job's attempts, as their events tell: where each ran, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .models import Job, JobEvent


@dataclass
class Attempt:
    number: int
    started_at: datetime | None = None
    host: str = ""
    device: str = ""
    ended_at: datetime | None = None
    state: str = ""  # empty while it is at work, and for an attempt whose worker never said its last word
    error: str = ""  # why it ended


def attempts(job: Job) -> list[Attempt]:
    """Newest first; the present one is there before it says its first word."""
    found = {job.attempt: Attempt(job.attempt)}
    events = JobEvent.objects.filter(job=job, kind__in=("started", "ended")).order_by("id")
    for number, kind, at, data in events.values_list("attempt", "kind", "at", "data"):
        tell(found.setdefault(number, Attempt(number)), kind, at, data)
    found[job.attempt].state = job.state
    return [found[number] for number in sorted(found, reverse=True)]


def tell(attempt: Attempt, kind: str, at: datetime, data: Any) -> None:
    if not isinstance(data, dict):
        return  # of a machine, from before its events were checked
    if kind == "started":
        attempt.started_at, attempt.host, attempt.device = at, data.get("host", ""), data.get("device", "")
    else:
        attempt.ended_at, attempt.state, attempt.error = at, data.get("state", ""), data.get("error", "")
