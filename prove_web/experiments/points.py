"""A run's curves as one snapshot, thinned out where there are more points than a chart can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db.models import Max
from tsdownsample import MinMaxLTTBDownsampler

from .models import Run

MOST = 3_000  # points of one series that a browser is sent
Row = dict[str, Any]


def snapshot(run: Run) -> dict[str, Any]:
    """Everything up to `cursor`; what comes after it comes over the socket, and a step told twice replaces itself.

    The cursor is read first, so that an event stored meanwhile is told again rather than left out.
    """
    cursor = run.job.events.aggregate(last=Max("id"))["last"] or 0
    points, held_out = (
        [{"step": step, **metrics} for step, metrics in table.values_list("step", "metrics")]
        for table in (run.points.all(), run.held_out.all())
    )
    return {"cursor": cursor, "job": str(run.job_id), "points": thinned(points), "held_out": thinned(held_out)}


def thinned(rows: Sequence[Row], most: int = MOST) -> list[Row]:
    """The same rows; when they are too many, of each metric only the points that keep its shape and its extremes."""
    if len(rows) <= most:
        return list(rows)
    steps = np.array([row["step"] for row in rows], dtype=np.int64)
    kept: dict[int, Row] = {}
    for metric in sorted({name for row in rows for name in row} - {"step"}):
        told = [i for i, row in enumerate(rows) if row.get(metric) is not None]
        values = np.array([rows[i][metric] for i in told], dtype=np.float64)
        chosen = MinMaxLTTBDownsampler().downsample(steps[told], values, n_out=min(most, len(told)))
        for place in chosen:
            row = rows[told[place]]
            kept.setdefault(row["step"], {"step": row["step"]})[metric] = row[metric]
    return [kept[step] for step in sorted(kept)]
