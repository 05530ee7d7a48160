"""API operations for evaluations: list, launch, and read the results."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.evaluations.annotations import annotate_evaluations
from prove_web.evaluations.evaluation_launch import choose_benchmark, launch
from prove_web.evaluations.forms import OPTION, EvaluationForm
from prove_web.evaluations.listing import EvaluationFilter
from prove_web.evaluations.models import Evaluation
from prove_web.evaluations.policies import origin
from prove_web.evaluations.querysets import evaluation_of
from prove_web.live.models import State
from training_worker.evaluation.registry import KNOWN

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..paging import Cursor, Limit, Number, Piece, by_key, by_place
from ..permissions import in_project
from ..schemas import JobOut, username
from ..streaming import stream_json_lines

router = Router(tags=["Evaluations"])
EVALUATIONS = "/{slug:organisation}/{slug:project}/evaluations"
EVALUATION = EVALUATIONS + "/{int:evaluation}"
Launch = body_of(
    EvaluationForm,
    "LaunchEvaluation",
    optional=True,
    benchmark=(str, Field(max_length=40, description=f"One of {', '.join(KNOWN)}.")),
    policy=(str, Field(max_length=400, description="Any `policy` value listed by GET /policies.")),
    options=(dict[str, str], Field({}, max_length=40, description="Benchmark-specific options, by name.")),
)


class EvaluationOut(Schema):
    """An evaluation; `overall` is from 0 to 1, null until every category has a score."""

    number: int
    name: str
    benchmark: str
    version: str
    model: str
    run: int | None
    checkpoint: str
    state: str
    overall: float | None
    by: str | None
    created_at: datetime
    url: str

    @staticmethod
    def resolve_run(one: Evaluation) -> int | None:
        return one.run.number if one.run else None

    @staticmethod
    def resolve_state(one: Evaluation) -> str:
        return one.job.state

    @staticmethod
    def resolve_by(one: Evaluation) -> str | None:
        return username(one.job.created_by)

    @staticmethod
    def resolve_url(one: Evaluation) -> str:
        return one.get_absolute_url()


class EvaluationRow(EvaluationOut):
    low: float | None
    high: float | None
    took: timedelta | None
    job: UUID

    @staticmethod
    def resolve_job(one: Evaluation) -> UUID:
        return one.job_id


class EvaluationDetail(EvaluationOut):
    """`report` is available once the evaluation is done."""

    settings: dict[str, Any]
    report: dict[str, Any] | None
    job: JobOut

    @staticmethod
    def resolve_report(one: Evaluation) -> dict[str, Any] | None:
        return one.job.result.get("report") if one.job.state == State.DONE else None


class EvaluationItem(Schema):
    item: str
    category: str
    passed: bool
    value: float
    goal_success: bool | None
    failure: str
    steps: int
    calls: int
    tokens: int
    seconds: float


@router.get(EVALUATIONS, response=Piece[EvaluationRow])
@in_project(Action.VIEW)
def list_evaluations(
    request: Any,
    q: Annotated[str, Query(max_length=200)] = "",
    benchmark: Annotated[str, Query(max_length=40)] = "",
    run: Annotated[int | None, Query(ge=1, le=10**9 - 1)] = None,
    state: State | None = None,
    sort: Annotated[str, Query(max_length=40, description="Column, such as -overall; default: newest first.")] = "",
    cursor: Cursor = "",
    limit: Limit = 25,
) -> Any:
    """List the project's evaluations as in the table."""
    filters = build_query_dict({"q": q, "benchmark": benchmark, "run": run, "state": state, "sort": sort})
    found = EvaluationFilter(
        filters, annotate_evaluations(Evaluation.objects.filter(project=request.project)), request.project
    )
    if not found.is_valid():
        raise ill_filled(found.errors, "query")
    return by_place(found.qs, cursor, limit) if sort else by_key(found.qs, "number", cursor, limit)


@router.post(EVALUATIONS, response={201: EvaluationDetail})
@in_project(Action.LAUNCH)
def launch_evaluation(request: Any, body: Launch) -> Any:  # type: ignore[valid-type]
    """Queue an evaluation of a policy on a benchmark."""
    values = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    values |= {f"{OPTION}{name}": value for name, value in values.pop("options", {}).items()}
    if values["benchmark"] not in KNOWN:
        do = f"Choose one of {', '.join(KNOWN)}."
        raise ApiError(422, "Unknown benchmark.", "body.benchmark", do)
    data = build_query_dict({"trials": 1, "style": "tools"} | values)
    form = EvaluationForm(request.project, choose_benchmark(data), data)
    if strange := [name for name in data if name not in form.fields]:
        raise ApiError(422, "This benchmark has no such option.", f"body.options.{strange[0]}", "Remove it.")
    for option in form.options:
        data.setdefault(option.name, option.field.initial or "")
    if not form.is_valid():
        raise ill_filled(form.errors)
    source = origin(request.project, form.cleaned_data["policy"])
    made = launch(request.project, request.user, form.title, form.spec, source)
    return evaluation_of(request.project, made.number)


@router.get(EVALUATION, response=EvaluationDetail)
@in_project(Action.VIEW)
def read_report(request: Any, evaluation: Number) -> Any:
    """Return one evaluation, with its report once it is done."""
    return evaluation_of(request.project, evaluation)


@router.get(f"{EVALUATION}/items", response=Piece[EvaluationItem])
@in_project(Action.VIEW)
def list_evaluation_items(
    request: Any,
    evaluation: Number,
    result: Literal["", "passed", "failed"] = "",
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Any:
    """List the evaluated items in the order they finished."""
    rows = evaluation_of(request.project, evaluation).items.all()
    rows = rows.filter(passed=result == "passed") if result else rows
    return by_key(rows, "pk", cursor, limit, downwards=False)


@router.get(f"{EVALUATION}/items.jsonl")
@in_project(Action.VIEW)
def export_evaluation_items(request: Any, evaluation: Number) -> Any:
    """Export the result of every item as JSON lines."""
    rows = evaluation_of(request.project, evaluation).items.order_by("pk")
    names = ("item", "category", "passed", "value", "goal_success", "failure", "steps", "calls", "tokens", "seconds")
    return stream_json_lines(rows.values(*names).iterator(), f"evaluation-{evaluation}.jsonl")
