"""What is new about a job since a cursor: read from the database, never carried by a hint."""

from __future__ import annotations

from typing import Any

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
