"""State and new events of topics, always read from the database rather than taken from hints."""

from __future__ import annotations

from typing import Any

from .jobs import summary
from .models import Job, JobEvent

PAGE = 500
NEWEST = 20


def deltas(job_id: str, cursor: int) -> dict[str, Any] | None:
    """Return the job's state and at most a page of events after the cursor; None if it no longer exists."""
    job = Job.objects.not_deleted().select_related("project__organisation").filter(pk=job_id).first()
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
    """Return a project's newest jobs with their state."""
    jobs = Job.objects.not_deleted().filter(project_id=project_id).select_related("project__organisation")
    return [summary(job) for job in jobs[:NEWEST]]
