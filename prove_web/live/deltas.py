"""State and new events of topics, always read from the database rather than taken from hints."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from django.db.models import Count, Max

from prove_web.review.models import Comment
from prove_web.servers.models import LiveSession, SessionCall

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


def session_now(session_id: str) -> dict[str, Any] | None:
    """Return the session's number of calls, its fault injection, and the newest restart of it, if any.

    None if it no longer exists.
    """
    again = LiveSession.objects.filter(parent=session_id, parent_at=0).order_by("-pk").values_list("pk", flat=True)
    calls = SessionCall.objects.filter(session=session_id).order_by("-position").values_list("position", flat=True)
    for faults in LiveSession.objects.filter(pk=session_id).values_list("faults", flat=True):
        return {"calls": calls.first() or 0, "faults": faults, "again": again.first()}
    return None


def trajectory_now(trajectory_id: str) -> dict[str, Any]:
    """Return a stamp that changes with every comment; the comments themselves are fetched with permission checks."""
    said = Comment.objects.filter(trajectory=trajectory_id).aggregate(
        Max("pk"), Max("edited_at"), Max("resolved_at"), Count("resolved_at"), Count("removed_at")
    )
    return {"stamp": blake2b(repr(sorted(said.items())).encode(), digest_size=8).hexdigest()}
