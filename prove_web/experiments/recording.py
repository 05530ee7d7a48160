"""A run's curves, from what its job reports. A step told again replaces itself; going back voids what came after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prove_web.live.models import TRAINS, Job

from .models import HeldOut, Point, Run

Curve = type[Point] | type[HeldOut]
TABLES: dict[str, Curve] = {"step": Point, "held_out": HeldOut}


def record_curves(job: Job, events: Sequence[dict[str, Any]]) -> None:
    if job.kind not in TRAINS or not events:
        return
    run = Run.objects.get(job=job)
    fresh: dict[Curve, dict[int, dict[str, Any]]] = {Point: {}, HeldOut: {}}
    for event in events:
        kind, data = event["kind"], event["data"]
        if kind == "rewound":
            for table, rows in fresh.items():
                table.objects.filter(run=run, step__gt=data["step"]).delete()
                for step in [step for step in rows if step > data["step"]]:
                    del rows[step]
        elif kind in TABLES:
            fresh[TABLES[kind]][data["step"]] = {name: value for name, value in data.items() if name != "step"}
    for table, rows in fresh.items():
        table.objects.bulk_create(
            [table(run=run, step=step, metrics=metrics) for step, metrics in rows.items()],
            update_conflicts=True,
            unique_fields=["run", "step"],
            update_fields=["metrics"],
        )
