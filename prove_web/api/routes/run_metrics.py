"""API operations for the metrics, rollouts and checkpoints of a run."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from django.http import Http404
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts import audit
from prove_web.accounts.roles import Action
from prove_web.experiments.checkpoints import checkpoints
from prove_web.experiments.detail import run_of, sent_checkpoint
from prove_web.experiments.metric_api import BadQuery, metrics_of
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.experiments.rollouts import NoRollouts, groups_of, rollout_of
from prove_web.experiments.run_export import points_of, rollouts_of
from prove_web.experiments.search import Query as Sought
from prove_web.experiments.search import SearchResults
from training_worker.core.trajectory import dumps

from ..errors import ApiError
from ..paging import Cursor, Limit, Number, Piece, by_place
from ..permissions import in_project
from ..schemas import ADVANTAGE
from ..streaming import stream_json_lines
from .runs import RUN

router = Router(tags=["Metrics and rollouts"])
Step = Annotated[int, Field(ge=0, le=2**31 - 1)]


class MetricsQuery(Schema):
    """Which metrics to return, over which steps, at which resolution."""

    names: str = Field("", max_length=2_000, description="Comma-separated metrics; default: those of the charts.")
    source: Literal["points", "held_out"] = "points"
    first: int | None = Field(None, alias="from", ge=0, le=10**12 - 1, description="First step.")
    last: int | None = Field(None, alias="to", ge=0, le=10**12 - 1, description="Last step.")
    points: int | None = Field(None, ge=3, le=100_000, description="Maximum points per series (downsampled).")


class Metrics(Schema):
    run: int
    source: str
    step: list[int]
    axes: dict[str, list[float]]
    series: dict[str, Any] = Field(description="Values by metric name, or {at, values} if some steps have none.")
    thinned: bool
    odd: dict[str, list[tuple[int, str]]] = Field(description="Steps with a non-finite value, by metric name.")


class Hit(Schema):
    step: int
    group: int
    index: int
    example: str
    reward: float | None
    advantage: float | None = Field(description=ADVANTAGE)
    end: str
    failed: int
    tokens: int | None
    tools: list[str]


class Member(Schema):
    index: int
    place: int
    reward: float | None
    advantage: float | None = Field(description=ADVANTAGE)
    end: str
    calls: list[tuple[str, bool]]


class Group(Schema):
    number: int
    name: str
    mean: float
    spread: float
    void: bool
    members: list[Member]


class CheckpointOut(Schema):
    step: int
    size: int


@router.get(f"{RUN}/metrics", response=Metrics)
@in_project(Action.VIEW)
def read_metrics(request: Any, run: Number, query: Query[MetricsQuery]) -> Any:
    """Return a run's metrics at any resolution."""
    try:
        return metrics_of(run_of(request.project, run), request.GET)
    except BadQuery as error:
        raise ApiError(422, str(error), "query", "Change the query.") from None


@router.get(f"{RUN}/points")
@in_project(Action.VIEW)
def export_points(request: Any, run: Number, source: Literal["points", "held_out"] = "points") -> Any:
    """Export every point of a run with all its metrics as JSON lines."""
    found = run_of(request.project, run)
    table = found.held_out.all() if source == "held_out" else found.points.all()
    return stream_json_lines(points_of(table), f"run-{run}-{source}.jsonl")


@router.get(f"{RUN}/rollouts", response=Piece[Hit])
@in_project(Action.VIEW)
def find_rollouts(
    request: Any,
    run: Number,
    q: Annotated[
        str, Query(max_length=500, description="Search, such as `tool:create_event end:tokens reward<0.5`.")
    ] = "",
    order: Literal["step", "-step", "reward", "-reward"] = "step",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> Any:
    """Search the rollouts of a run over all steps."""
    query = Sought.parse_text(q)
    if query.strange:
        do = "Use tool:, end:, example:, and reward, advantage, step, calls, failed, tokens with < <= = >= >."
        raise ApiError(422, f"Unknown search term: {' '.join(query.strange)[:200]}", "query.q", do)
    return by_place(SearchResults(run_of(request.project, run), query, order), cursor, limit)


@router.get(f"{RUN}/rollouts.jsonl")
@in_project(Action.VIEW)
def export_rollouts(
    request: Any, run: Number, first: Annotated[int, Query(ge=0, le=2**31)] = 0, last: int | None = None
) -> Any:
    """Export all rollouts of a run, or of the steps from `first` to `last`, as JSON lines."""
    found = run_of(request.project, run)
    steps = [step for step in StoredRun(found).steps() if first <= step and (last is None or step <= last)]
    audit.note(None, "exported", found, request.organisation, rollouts=f"{len(steps)} steps")
    return stream_json_lines(rollouts_of(found, steps), f"run-{run}-rollouts.jsonl")


@router.get(f"{RUN}/rollouts/{{int:step}}", response=list[Group])
@in_project(Action.VIEW)
def list_groups(request: Any, run: Number, step: Step) -> Any:
    """List the groups of a step, each with a summary of its rollouts."""
    try:
        return groups_of(run_of(request.project, run), step)
    except NoRollouts as why:
        raise Http404(str(why)) from None


@router.get(f"{RUN}/rollouts/{{int:step}}/{{int:index}}", response=dict[str, Any])
@in_project(Action.VIEW)
def read_rollout(request: Any, run: Number, step: Step, index: Number) -> Any:
    """Return one rollout: its conversation, its calls, its reward with evidence."""
    try:
        found = rollout_of(run_of(request.project, run), step, index)
    except NoRollouts as why:
        raise Http404(str(why)) from None
    if found is None:
        raise Http404(f"This step has no rollout {index}.")
    return json.loads(dumps(found))


@router.get(f"{RUN}/checkpoints", response=list[CheckpointOut])
@in_project(Action.VIEW)
def list_checkpoints(request: Any, run: Number) -> Any:
    """List the stored checkpoints of a run, newest first, with their sizes in bytes."""
    return checkpoints(run_of(request.project, run).job)


@router.get(f"{RUN}/checkpoints/{{int:step}}")
@in_project(Action.VIEW)
def download_checkpoint(request: Any, run: Number, step: Step) -> Any:
    """Download the files of a checkpoint as a streamed zip."""
    return sent_checkpoint(run_of(request.project, run), step)
