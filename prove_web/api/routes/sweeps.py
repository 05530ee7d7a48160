"""API operations for sweeps: list, launch, read and stop."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.roles import Action
from prove_web.experiments.models import Run, Sweep
from prove_web.experiments.sweep_analysis import weights
from prove_web.experiments.sweep_services import (
    annotate_sweeps,
    best_of,
    ended_of,
    launch_all,
    members_of,
    stop_all,
    sweep_of,
    titles_of,
)

from ..paging import Cursor, Limit, Number, Piece, by_key
from ..permissions import in_project
from ..schemas import username
from .jobs import Stop
from .sweep_preview import SWEEPS, SweepBody, validate_sweep

router = Router(tags=["Sweeps"])
SWEEP = SWEEPS + "/{int:sweep}"


class SweepOut(Schema):
    """`best` is the best held-out reward of the finished members."""

    number: int
    name: str
    method: str
    space: dict[str, str]
    draws: int | None
    seed: int
    by: str | None
    created_at: datetime
    members: int
    done: int
    failed: int
    active: int
    best: float | None
    url: str

    @staticmethod
    def resolve_draws(sweep: Sweep) -> int | None:
        return sweep.budget

    @staticmethod
    def resolve_by(sweep: Sweep) -> str | None:
        return username(sweep.created_by)

    @staticmethod
    def resolve_members(sweep: Any) -> int:
        return int(sweep.count)

    @staticmethod
    def resolve_url(sweep: Sweep) -> str:
        return sweep.get_absolute_url()


class SweepMember(Schema):
    """A run of a sweep; `before` and `after` are its held-out rewards."""

    number: int
    name: str
    varied: dict[str, str]
    state: str
    job: UUID
    steps: int | None
    reward_start: float | None
    reward_now: float | None
    before: float | None
    after: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    best: bool
    url: str

    @staticmethod
    def resolve_state(run: Run) -> str:
        return run.job.state

    @staticmethod
    def resolve_job(run: Run) -> UUID:
        return run.job_id

    @staticmethod
    def resolve_url(run: Run) -> str:
        return run.get_absolute_url()


class Importance(Schema):
    """The share of the ranking by held-out reward that a setting explains alone, with the p-value for no effect."""

    setting: str
    share: float
    p: float
    sign: str


class SweepDetail(SweepOut):
    """`importance` is available after eight members have finished; the most important setting is first."""

    runs: list[SweepMember]
    importance: list[Importance]


class StopRequested(Schema):
    stopping: int = Field(description="Number of unfinished members that were asked to stop.")


@router.get(SWEEPS, response=Piece[SweepOut])
@in_project(Action.VIEW)
def list_sweeps(request: Any, cursor: Cursor = "", limit: Limit = 25) -> Any:
    """List the project's sweeps, newest first."""
    return by_key(annotate_sweeps(Sweep.objects.filter(project=request.project)), "number", cursor, limit)


@router.post(SWEEPS, response={201: SweepDetail})
@in_project(Action.LAUNCH)
def launch_sweep(request: Any, body: SweepBody) -> Any:
    """Queue all members of a sweep, or none if one of them could not be launched."""
    with transaction.atomic():
        lock_active_project(request.project)
        sweep = launch_all(request.project, request.user, validate_sweep(request.project, body))
    return load_sweep(request.project, sweep.number)


@router.get(SWEEP, response=SweepDetail)
@in_project(Action.VIEW)
def read_sweep(request: Any, sweep: Number) -> Any:
    """Return one sweep with its members and the importance of each setting."""
    return load_sweep(request.project, sweep)


@router.post(f"{SWEEP}/stop", response=StopRequested)
@in_project(Action.LAUNCH)
def stop_sweep(request: Any, sweep: Number, body: Stop) -> Any:
    """Stop every unfinished member: after its step, with a checkpoint, or now."""
    return {"stopping": stop_all(sweep_of(request.project, sweep), body.level)}


def load_sweep(project: Any, number: int) -> Sweep:
    """Load the sweep with what its page shows. Raises Http404."""
    sweep_of(project, number)
    found = annotate_sweeps(Sweep.objects.filter(project=project, number=number)).get()
    members = members_of(found)
    best = best_of(members)
    for run in members:
        run.best = run == best
    found.runs = members
    found.importance = [
        {"setting": one.title, "share": one.share, "p": one.p, "sign": one.sign}
        for one in weights(ended_of(found, members, best), titles_of(found))
    ]
    return found
