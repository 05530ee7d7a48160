"""Ingestion of an external run's metric points, heartbeats and end.

A point is merged into the stored point of its step, and a repeated metric replaces its value, so repeated data is
stored once and creates no event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from prove_web.live import message_broker
from prove_web.live.ingest import pass_on, store
from prove_web.live.jobs import lock_job
from prove_web.live.models import Job, State, StopLevel
from training_worker.core.json_numbers import encode_nonfinite, separate_nonfinite
from training_worker.monitoring.event_data import InvalidEvent, check_result
from training_worker.monitoring.metrics import METRICS

from ..charts import list_charted_metrics
from ..models import HeldOut, Point, Run, RunKind
from .limits import MOST_NAMES, MOST_POINTS, InvalidRunData, check

Metrics = dict[str, float | str | None]  # a non-finite number by its name
TABLES: dict[str, type[Point] | type[HeldOut]] = {"points": Point, "held_out": HeldOut}
EVENTS = {"points": "step", "held_out": "held_out"}
ELAPSED = "elapsed_s"
KNOWN = {
    "points": {*list_charted_metrics("points"), *(one.name for one in METRICS)},
    "held_out": {*list_charted_metrics("held_out")},
}


class NotOutside(ValueError):
    """Error for an attempt to log to a run that is trained by a worker."""


@dataclass(frozen=True)
class MetricPoint:
    """Metrics of a step, with NaN and infinity as numbers or words; `at` is the time of measurement, if reported."""

    step: int
    metrics: Mapping[str, float | str | None]
    at: datetime | None = None


def store_metric_points(run: Run, series: Mapping[str, Sequence[MetricPoint]], total: int | None = None) -> int:
    """Store points by source and return how many steps are new or changed; no points make a heartbeat.

    Raises NotOutside and InvalidRunData; then nothing is stored.
    """
    if run.kind != RunKind.OUTSIDE:
        raise NotOutside(f"Run {run.number} is trained here; only its worker can log to it.")
    with transaction.atomic():
        job = lock_job(run.job_id)
        fresh = [event for source, points in series.items() for event in build_metric_events(run, job, source, points)]
        opened = goes_on(job, bool(fresh))
        job.beat_at = timezone.now()
        job.total = total if total is not None else job.total
        steps = [point.step for points in series.values() for point in points]
        job.done = max([job.done, *steps])
        job.total = max(job.total, job.done) if job.total else 0
        job.line = f"Step {job.done:,.0f}" if job.done and not job.ended else job.line
        put(job, fresh)
    if fresh:
        pass_on(job)
    elif opened:
        message_broker.hint(job)
    return len(fresh)


def build_metric_events(run: Run, job: Job, source: str, points: Sequence[MetricPoint]) -> list[dict[str, Any]]:
    """Return one event per new or changed step in step order. Raises InvalidRunData."""
    table = TABLES[source].objects.filter(run=run)
    there = table.filter(step__in={one.step for one in points}).values_list("step", "metrics", "odd")
    known: dict[int, Metrics] = {step: {**metrics, **(odd or {})} for step, metrics, odd in there}
    found: dict[int, tuple[Metrics, datetime]] = {}
    for place, point in enumerate(points):
        check(point.metrics, f"{source}.{place}")
        before = found[point.step][0] if point.step in found else known.get(point.step, {})
        values = {name: encode_nonfinite(value) for name, value in point.metrics.items()}
        after = {**before, **compute_elapsed_metrics(job, source, point), **values}
        if after != before:
            found[point.step] = (after, point.at or timezone.now())
    if len(found.keys() - known.keys()) + table.count() > MOST_POINTS:
        raise InvalidRunData(f"A run has at most {MOST_POINTS:,} steps. Log fewer, such as every tenth.", source)
    learn(run, source, [name for metrics, _ in found.values() for name in metrics])
    return [
        {"kind": EVENTS[source], "at": at.isoformat(), "data": {"step": step, **separate_nonfinite(metrics)}}
        for step, (metrics, at) in sorted(found.items())
    ]


def compute_elapsed_metrics(job: Job, source: str, point: MetricPoint) -> Metrics:
    """Return the seconds since the start of the run, if the point has a time."""
    if source != "points" or point.at is None or job.started_at is None:
        return {}
    return {ELAPSED: max(0.0, round((point.at - job.started_at).total_seconds(), 3))}


def learn(run: Run, source: str, names: Sequence[str]) -> None:
    """Store the names of metrics that are not built in."""
    own = [name for name in dict.fromkeys(names) if name not in KNOWN[source]]
    if {*own} <= {*run.own.get(source, [])}:
        return
    run.refresh_from_db(fields=["own"])  # keeps names that a concurrent request stored
    known = run.own.get(source, [])
    fresh = [name for name in own if name not in known]
    if not fresh:
        return
    if len(known) + len(fresh) > MOST_NAMES:
        raise InvalidRunData(f"A run has at most {MOST_NAMES} custom metrics; {fresh[0]} exceeds the limit.", source)
    run.own = {**run.own, source: [*known, *fresh]}
    run.save(update_fields=["own"])


def goes_on(job: Job, reported: bool) -> bool:
    """Reopen a job that was lost, or that failed or stopped and now has new data; return whether it was reopened."""
    if job.state != State.LOST and not (reported and job.state in (State.FAILED, State.STOPPED)):
        return False
    job.state, job.error, job.ended_at, job.stop = State.RUNNING, "", None, StopLevel.NONE
    return True


def put(job: Job, events: Sequence[dict[str, Any]]) -> None:
    """Store events with consecutive numbers, and the job."""
    store(job, [{**event, "seq": job.seq + at} for at, event in enumerate(events, 1)])


def end(run: Run, state: State, error: str = "", result: Mapping[str, Any] | None = None) -> None:
    """Store the end of the run; repeating it changes nothing. Raises NotOutside and InvalidRunData."""
    if run.kind != RunKind.OUTSIDE:
        raise NotOutside(f"Run {run.number} is trained here; only its worker can log to it.")
    try:
        check_result("The end", result or {})
    except InvalidEvent as why:
        raise InvalidRunData(str(why), "result") from None
    with transaction.atomic():
        job = lock_job(run.job_id)
        if job.state == state and job.error == error:
            return
        job.beat_at = timezone.now()
        data = {"state": str(state), "error": error, "result": dict(result or {})}
        put(job, [{"kind": "ended", "at": timezone.now().isoformat(), "data": data}])
    pass_on(job)
