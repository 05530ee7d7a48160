"""What is new about a job, a project or a live session: read from the database, never carried by a hint."""

from __future__ import annotations

from typing import Any

from prove_web.servers.models import LiveSession, SessionCall

from .jobs import summary
from .models import Job, JobEvent

PAGE = 500
NEWEST = 20


def deltas(job_id: str, cursor: int) -> dict[str, Any] | None:
    """The job as it stands and its events after the cursor, at most a page of them; None when it is gone."""
    job = Job.objects.select_related("project__organisation").filter(pk=job_id).first()
    if job is None:
        return None
    events = list(JobEvent.objects.filter(job=job, id__gt=cursor).order_by("id")[:PAGE])
    return {
        "job": str(job.id),
        "cursor": events[-1].pk if events else cursor,
        "more": len(events) == PAGE,
        "summary": summary(job),
        "events": [{"id": e.pk, "kind": e.kind, "attempt": e.attempt, "data": e.data} for e in events],
    }


def newest(project_id: str) -> list[dict[str, Any]]:
    """A project's newest jobs as they stand."""
    jobs = Job.objects.filter(project_id=project_id).select_related("project__organisation")
    return [summary(job) for job in jobs[:NEWEST]]


def session_now(session_id: str) -> dict[str, Any] | None:
    """How many calls a live session has, and the faults that the next ones meet; None when it is gone."""
    calls = SessionCall.objects.filter(session=session_id).order_by("-position").values_list("position", flat=True)
    for faults in LiveSession.objects.filter(pk=session_id).values_list("faults", flat=True):
        return {"calls": calls.first() or 0, "faults": faults}
    return None
