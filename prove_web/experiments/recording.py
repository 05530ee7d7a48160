"""A run's curves and its index of rollouts, from what its job reports.

A step told again replaces itself; going back voids what came after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prove_web.live.models import TRAINS, Job

from .index import record_rollouts
from .models import HeldOut, Point, RolloutGroup, Run, StepRollouts

Curve = type[Point] | type[HeldOut]
TABLES: dict[str, Curve] = {"step": Point, "held_out": HeldOut}
VOIDED = (*TABLES.values(), StepRollouts, RolloutGroup)


def record_curves(job: Job, events: Sequence[dict[str, Any]]) -> None:
    if job.kind not in TRAINS or not events:
        return
    run = Run.objects.get(job=job)
    fresh: dict[Curve, dict[int, dict[str, Any]]] = {Point: {}, HeldOut: {}}
    kept: dict[int, dict[str, Any]] = {}
    for event in events:
        kind, data = event["kind"], event["data"]
        if kind == "rewound":
            for table in VOIDED:
                table.objects.filter(run=run, step__gt=data["step"]).delete()
            for rows in (*fresh.values(), kept):
                for step in [step for step in rows if step > data["step"]]:
                    del rows[step]
        elif kind in TABLES:
            fresh[TABLES[kind]][data["step"]] = {name: value for name, value in data.items() if name != "step"}
        elif kind == "rollouts":
            kept[data["step"]] = data
    for table, rows in fresh.items():
        table.objects.bulk_create(
            [table(run=run, step=step, metrics=metrics) for step, metrics in rows.items()],
            update_conflicts=True,
            unique_fields=["run", "step"],
            update_fields=["metrics"],
        )
    record_rollouts(run, kept)
