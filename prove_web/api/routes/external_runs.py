"""API operations for external runs: create, log metrics, and finish."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Router, Schema, Status
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.experiments.detail import run_of
from prove_web.experiments.outside import create, ingest
from prove_web.experiments.outside.ingest import MetricPoint, NotOutside
from prove_web.experiments.outside.limits import InvalidRunData
from prove_web.experiments.run_metadata import InvalidMetadata
from prove_web.live.models import Job, State
from training_worker.monitoring.metrics.names import LONGEST

from ..errors import ApiError
from ..paging import Number
from ..permissions import in_project
from ..schemas import StrictSchema
from .runs import RUN, RUNS, RunDetail

router = Router(tags=["External runs"])
AT_ONCE = 1_000  # points of a request
Step = Annotated[int, Field(ge=0, le=2**31 - 1)]
Value = Annotated[float, Field(allow_inf_nan=False, strict=True)] | Literal["NaN", "Infinity", "-Infinity"]
Name = Annotated[str, Field(max_length=10 * LONGEST)]


class OutsideRun(StrictSchema):
    """A run trained by another program."""

    name: str = Field(max_length=500)
    key: str = Field("", max_length=200, description="Your identifier; the same key returns the same run.")
    config: dict[str, Any] = Field({}, description="Hyperparameters, in any structure.")
    tags: list[Annotated[str, Field(max_length=200)]] = Field([], max_length=200)
    notes: str = Field("", max_length=50_000)
    total_steps: int | None = Field(None, ge=1, le=2**31 - 1)
    silent_after_s: int = Field(
        create.SILENT_AFTER,
        ge=create.SHORTEST_SILENCE,
        le=create.LONGEST_SILENCE,
        description="Seconds without a heartbeat until the run counts as lost.",
    )
    started_at: datetime | None = None
    host: str = Field("", max_length=200, description="Host name of the training machine.")


class PointIn(StrictSchema):
    step: Step
    metrics: dict[Name, Value | None] = Field(
        max_length=500, description="By any name; null for missing values, “NaN” or “Infinity” as strings."
    )
    time: datetime | None = Field(None, description="Time of the measurement.")

    @property
    def to_point(self) -> MetricPoint:
        return MetricPoint(self.step, self.metrics, self.time)


class RunMetricsIn(StrictSchema):
    """Metric points; an empty request is a heartbeat."""

    points: list[PointIn] = Field([], max_length=AT_ONCE)
    held_out: list[PointIn] = Field([], max_length=AT_ONCE, description="Metrics on held-out data.")
    total_steps: int | None = Field(None, ge=1, le=2**31 - 1)


class RunEndIn(StrictSchema):
    state: Literal["done", "failed", "stopped"]
    error: str = Field("", max_length=20_000)
    result: dict[str, Any] = Field({}, description="Final results, in any structure.")


class MetricsReceipt(Schema):
    """`stored` is the number of new or changed steps; `stop` is non-empty if a stop was requested."""

    state: str
    stop: str
    stored: int
    last_step: int | None


@router.post(f"{RUNS}/outside", response={200: RunDetail, 201: RunDetail})
@in_project(Action.LAUNCH)
def make_outside_run(request: Any, body: OutsideRun) -> Any:
    """Create an external run; 200 if a run with this key exists."""
    fields = body.dict()
    fields["total"] = fields.pop("total_steps")
    if fields["started_at"] is not None and fields["started_at"].tzinfo is None:
        raise ApiError(422, "started_at has no time zone.", "body.started_at", "Add one, such as +00:00.")
    with raising_api_errors():
        run, new = create.make(request.project, request.user, create.ExternalRunRequest(**fields))
    return Status(201 if new else 200, run_of(request.project, run.number))


@router.post(f"{RUN}/tell", response=MetricsReceipt)
@in_project(Action.LAUNCH)
def tell_run(request: Any, run: Number, body: RunMetricsIn) -> Any:
    """Log metrics of an external run; repeated points are stored once."""
    found = run_of(request.project, run)
    if any(each.time is not None and each.time.tzinfo is None for each in (*body.points, *body.held_out)):
        raise ApiError(422, "A point's time has no time zone.", "body.points", "Add one, such as +00:00.")
    points = {"points": [each.to_point for each in body.points], "held_out": [each.to_point for each in body.held_out]}
    with raising_api_errors():
        stored = ingest.store_metric_points(found, points, body.total_steps)
    job = Job.objects.get(pk=found.job_id)
    last = found.points.order_by("-step").values_list("step", flat=True).first()
    return {"state": job.state, "stop": job.stop, "stored": stored, "last_step": last}


@router.post(f"{RUN}/end", response=RunDetail)
@in_project(Action.LAUNCH)
def end_run(request: Any, run: Number, body: RunEndIn) -> Any:
    """Finish an external run with its final state."""
    with raising_api_errors():
        ingest.end(run_of(request.project, run), State(body.state), body.error, body.result)
    return run_of(request.project, run)


@contextmanager
def raising_api_errors() -> Iterator[None]:
    try:
        yield
    except NotOutside as why:
        do = "Create an external run to log to; this run can only be stopped and resumed."
        raise ApiError(409, str(why), "run", do) from None
    except InvalidRunData as why:
        raise ApiError(422, str(why), f"body.{why.where}", "Change it and send the request again.") from None
    except InvalidMetadata as why:
        raise ApiError(422, str(why), "body.tags", "Change them and send the request again.") from None
