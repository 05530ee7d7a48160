"""API operations for training runs: list, launch, clone, stop and resume."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.roles import Action
from prove_web.experiments.api_form import NotThere, filled_form
from prove_web.experiments.detail import run_of
from prove_web.experiments.evaluation import outcomes
from prove_web.experiments.forms import RunForm
from prove_web.experiments.models import Run
from prove_web.experiments.querysets import annotate_runs
from prove_web.experiments.reward_scale import in_words
from prove_web.experiments.run_launch import launch
from prove_web.experiments.table import rows
from prove_web.experiments.table.columns import column
from prove_web.experiments.table.params import parse_params
from prove_web.live.jobs import request_stop
from training_worker.monitoring.event_data import readable

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of
from ..paging import Cursor, Limit, Number, Piece, by_key, by_place
from ..permissions import in_project
from ..schemas import JobOut, username
from .jobs import Stop, resume_or_409

router = Router(tags=["Runs"])
RUNS = "/{slug:organisation}/{slug:project}/runs"
RUN = RUNS + "/{int:run}"
Launch = body_of(
    RunForm,
    "Launch",
    without=("dataset",),
    optional=True,
    policy=(str | None, Field(None, description="A `policy` value from GET /policies with `trains`; default: warm.")),
    dataset=(int | None, Field(None, description="Number of a finished dataset.")),
    clone=(int | None, Field(None, description="Number of a run whose settings are copied.")),
)


class RunOut(Schema):
    number: int
    name: str
    kind: str
    state: str
    dataset: int | None
    sweep: int | None
    tags: list[str]
    pinned: bool
    archived: bool
    by: str | None
    created_at: datetime
    url: str

    @staticmethod
    def resolve_state(run: Run) -> str:
        return run.job.state

    @staticmethod
    def resolve_dataset(run: Run) -> int | None:
        return run.dataset.number if run.dataset else None

    @staticmethod
    def resolve_sweep(run: Run) -> int | None:
        return run.sweep.number if run.sweep else None

    @staticmethod
    def resolve_archived(run: Run) -> bool:
        return run.archived_at is not None

    @staticmethod
    def resolve_by(run: Run) -> str | None:
        return username(run.job.created_by)

    @staticmethod
    def resolve_url(run: Run) -> str:
        return run.get_absolute_url()


class RunRow(RunOut):
    """A run in the table: `reward_now` is the mean over its last steps, `gain` the held-out gain with its interval.

    Training rewards are comparable between runs with the same `scored_by`; `gain` always is, since it uses the paper's
    reward.
    """

    scored_by: str
    steps: int | None
    reward_start: float | None
    reward_now: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    took: timedelta | None
    job: UUID

    @staticmethod
    def resolve_scored_by(run: Run) -> str:
        return in_words(run)

    @staticmethod
    def resolve_job(run: Run) -> UUID:
        return run.job_id


class RunDetail(RunOut):
    notes: str
    config: dict[str, Any]
    varied: dict[str, Any]
    base: int | None
    last_step: int | None
    job: JobOut

    @staticmethod
    def resolve_base(run: Run) -> int | None:
        return run.against.number if run.against else None

    @staticmethod
    def resolve_last_step(run: Run) -> int | None:
        return run.points.order_by("-step").values_list("step", flat=True).first()


class RunsWanted(Schema):
    """Filter and sort order of the runs table."""

    q: str = Field("", max_length=2000, description="Search query as in the table, such as state:running reward>0.8")
    archived: str = Field("", max_length=4, description="`too` includes archived runs, `only` lists only them.")
    sort: str = Field("", max_length=80, description="Table column, such as -reward; default: newest first.")


@router.get(RUNS, response=Piece[RunRow])
@in_project(Action.VIEW)
def list_runs(request: Any, wanted: Query[RunsWanted], cursor: Cursor = "", limit: Limit = 25) -> Any:
    """List the project's runs as in the table."""
    found, sought = rows.filter_runs(request.project, parse_params(wanted.dict()))
    if sought.fault:
        where = f"query.q, character {sought.fault.at + 1}"
        raise ApiError(422, sought.fault.message, where, "Change the query at this position.")
    if not wanted.sort:
        return by_key(annotate_runs(found), "number", cursor, limit)
    if column(wanted.sort.removeprefix("-")) is None:
        raise ApiError(422, f"Unknown column “{wanted.sort}”.", "query.sort", "Choose another one.")
    return by_place(annotate_runs(rows.order_runs(found, wanted.sort)), cursor, limit)


@router.post(RUNS, response={201: RunDetail})
@in_project(Action.LAUNCH)
def launch_run(request: Any, body: Launch) -> Any:  # type: ignore[valid-type]
    """Queue a run, as the launch form does; omitted fields have their default value, or that of the cloned run."""
    with transaction.atomic():
        lock_active_project(request.project)
        try:
            form = filled_form(request.project, body.dict(exclude_unset=True))
        except NotThere as why:
            raise ApiError(422, str(why), f"body.{why.field}", "Choose another one.") from None
        if not form.is_valid():
            raise ill_filled(form.errors)
        run = launch(request.project, request.user, form)
    return run_of(request.project, run.number)


@router.get(RUN, response=RunDetail)
@in_project(Action.VIEW)
def read_run(request: Any, run: Number) -> Any:
    """Return one run with its configuration and job."""
    return run_of(request.project, run)


@router.post(f"{RUN}/stop", response=RunDetail)
@in_project(Action.LAUNCH)
def stop_run(request: Any, run: Number, body: Stop) -> Any:
    """Stop a run after its step, with a checkpoint, or now."""
    request_stop(run_of(request.project, run).job, body.level)
    return run_of(request.project, run)


@router.post(f"{RUN}/resume", response=RunDetail)
@in_project(Action.LAUNCH)
def resume_run(request: Any, run: Number) -> Any:
    """Resume a run that was stopped, failed or lost, from its newest checkpoint."""
    resume_or_409(run_of(request.project, run).job)
    return run_of(request.project, run)


@router.get(f"{RUN}/evaluation", response=dict[str, Any])
@in_project(Action.VIEW)
def read_evaluation(request: Any, run: Number) -> Any:
    """Return the results of a run's final evaluation; empty before the run has ended."""
    result = run_of(request.project, run).job.result
    return {"result": result, "outcomes": outcomes(readable(result))}
