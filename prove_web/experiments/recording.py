"""Recording of a job's events: metric points, their summaries, and the rollout index.

A repeated step replaces itself; a rewind drops everything after its step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Max

from prove_web.live.models import TRAINS, Job
from training_worker.core.json_numbers import ODD

from .metric_summary import extend, refill
from .models import HELD_OUT, POINTS, HeldOut, Point, RolloutGroup, Run, StepRollouts
from .rollout_index import record_rollouts

Curve = type[Point] | type[HeldOut]
TABLES: dict[str, Curve] = {"step": Point, "held_out": HeldOut}
SOURCES = {Point: POINTS, HeldOut: HELD_OUT}
VOIDED = (*TABLES.values(), StepRollouts, RolloutGroup)


def record_curves(job: Job, events: Sequence[dict[str, Any]]) -> None:
    if job.kind not in TRAINS or not events:
        return
    run = Run.objects.get(job=job)
    fresh: dict[Curve, dict[int, dict[str, Any]]] = {Point: {}, HeldOut: {}}
    rollouts: dict[int, dict[str, Any]] = {}
    back = False
    for event in events:
        kind, data = event["kind"], event["data"]
        if kind == "rewound":
            back = True
            for table in VOIDED:
                table.objects.filter(run=run, step__gt=data["step"]).delete()
            for rows in (*fresh.values(), rollouts):
                for step in [step for step in rows if step > data["step"]]:
                    del rows[step]
        elif kind in TABLES:
            fresh[TABLES[kind]][data["step"]] = {name: value for name, value in data.items() if name != "step"}
        elif kind == "rollouts":
            rollouts[data["step"]] = data
    for table, rows in fresh.items():
        record_points(run, table, rows, back)
    record_rollouts(run, rollouts)


def record_points(run: Run, table: Curve, fresh: dict[int, dict[str, Any]], back: bool) -> None:
    """Store points and update their summaries; known points change nothing. `back` says that some were dropped."""
    last = table.objects.filter(run=run).aggregate(last=Max("step"))["last"] if fresh else None
    again = [step for step in fresh if last is not None and step <= last]
    points = {step: (drop_nonfinite_key(metrics), metrics.get(ODD)) for step, metrics in fresh.items()}
    rows = table.objects.filter(run=run, step__in=again).values_list("step", "metrics", "odd") if again else ()
    known = {step: (metrics, odd) for step, metrics, odd in rows}
    news = {step: one for step, one in points.items() if step not in known or known[step] != one}
    table.objects.bulk_create(
        [table(run=run, step=step, metrics=metrics, odd=odd) for step, (metrics, odd) in news.items()],
        update_conflicts=True,
        unique_fields=["run", "step"],
        update_fields=["metrics", "odd"],
    )
    if back or any(last is not None and step <= last for step in news):
        refill(run, SOURCES[table])
    elif news:
        extend(run, SOURCES[table], {step: metrics for step, (metrics, _) in news.items()})


def drop_nonfinite_key(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics without the record of non-finite values."""
    return {name: value for name, value in metrics.items() if name != ODD}
