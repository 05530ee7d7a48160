"""API operations for jobs: state, log, events, stop, resume, and order in the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import QuerySet
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.live.jobs import NotNow, request_stop, resume
from prove_web.live.log import tail
from prove_web.live.models import Job, JobEvent, State
from prove_web.live.priority import move
from prove_web.live.views import one_of
from training_worker.jobs.console import LOG

from ..errors import ApiError
from ..paging import Cursor, Description, Limit, Piece, by_place
from ..permissions import in_project
from ..schemas import JobOut, StrictSchema

router = Router(tags=["Jobs"])
JOBS = "/{slug:organisation}/{slug:project}/jobs"
JOB = JOBS + "/{uuid:job}"


class Stop(StrictSchema):
    level: Literal["after_step", "now"] = "after_step"


class Move(StrictSchema):
    to: Literal["up", "down", "first", "last"]


class EventOut(Schema):
    id: int
    attempt: int
    seq: int
    kind: str
    at: datetime
    data: dict[str, Any]


class LogOut(Schema):
    text: str


@router.get(JOBS, response=Piece[JobOut])
@in_project(Action.VIEW)
def list_jobs(request: Any, state: State | None = None, cursor: Cursor = "", limit: Limit = 50) -> Any:
    """List the project's jobs, newest first."""
    rows: QuerySet = Job.objects.not_deleted().filter(project=request.project)
    rows = rows.select_related("created_by").defer("spec", "result").order_by("-created_at", "-pk")
    return by_place(rows.filter(state=state) if state else rows, cursor, limit)


@router.get(JOB, response=JobOut)
@in_project(Action.VIEW)
def read_job(request: Any, job: UUID) -> Any:
    """Return one job and its state."""
    return one_of(request.project, job)


@router.get(f"{JOB}/log", response=LogOut)
@in_project(Action.VIEW)
def read_log(request: Any, job: UUID) -> Any:
    """Return the last lines of a job's log."""
    return {"text": tail(one_of(request.project, job).folder / LOG)}


@router.get(f"{JOB}/events", response=Piece[EventOut])
@in_project(Action.VIEW)
def list_events(
    request: Any,
    job: UUID,
    after: Annotated[int, Field(ge=0, le=2**63 - 1), Description("`id` of the last known event.")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Any:
    """List a job's events after a given one, oldest first; request again with the last `id` to get new ones."""
    rows = JobEvent.objects.filter(job=one_of(request.project, job), pk__gt=after).order_by("pk")
    found = list(rows[: limit + 1])
    return {"items": found[:limit], "next": str(found[limit - 1].pk) if len(found) > limit else None}


@router.post(f"{JOB}/stop", response=JobOut)
@in_project(Action.LAUNCH)
def stop_job(request: Any, job: UUID, body: Stop) -> Any:
    """Stop a job after its step, with a checkpoint, or now. Repeating the request has no further effect."""
    return request_stop(one_of(request.project, job), body.level)


@router.post(f"{JOB}/resume", response=JobOut)
@in_project(Action.LAUNCH)
def resume_job(request: Any, job: UUID) -> Any:
    """Resume a job that was stopped, failed or lost."""
    return resume_or_409(one_of(request.project, job))


@router.post(f"{JOB}/move", response=JobOut)
@in_project(Action.LAUNCH)
def move_job(request: Any, job: UUID, body: Move) -> Any:
    """Move a queued job before or after other jobs of this project in its queue."""
    found = one_of(request.project, job)
    if move(found, body.to) < 0:
        raise ApiError(409, f"“{found.title}” is no longer queued.", "job", "Nothing was moved.")
    return one_of(request.project, job)


def resume_or_409(job: Job) -> Job:
    try:
        return resume(job)
    except NotNow as error:
        raise ApiError(409, str(error), "", "Check the job's state first.") from None
