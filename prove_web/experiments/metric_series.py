"""Metric series of a run as columns, downsampled where a chart cannot show all points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from django.db.models import Max, QuerySet
from django.db.models.fields.json import KeyTransform
from tsdownsample import MinMaxLTTBDownsampler

from .chart_markers import marks
from .charts import list_charted_metrics
from .models import Run

MOST = 1_500  # points per series sent to a browser; zooming in loads the rest
FEW = 12  # up to this many metrics, extracting each is faster than reading all
ALONG = ("tokens", "elapsed_s")
MOST_ODD = 1_500  # steps with a NaN or infinite value sent to a browser
DIGITS = 7  # significant digits of a number in a snapshot
Row = tuple[int, dict[str, Any]]
Columns = dict[str, Any]


def snapshot(run: Run) -> dict[str, Any]:
    """Return all data up to `cursor`.

    Later events arrive over the socket, and a repeated step replaces the earlier one. The cursor is read first, so that
    a concurrently stored event is sent again rather than lost.
    """
    cursor = run.job.events.aggregate(last=Max("id"))["last"] or 0
    curves = {
        source: round_floats(columns(load_step_metrics(table), list_charted_metrics(source, run), MOST))
        | {"odd": load_nonfinite_values(table, list_charted_metrics(source, run))}
        for source, table in (("points", run.points.all()), ("held_out", run.held_out.all()))
    }
    return {"cursor": cursor, "job": str(run.job_id), "over": run.job.ended, "marks": marks(run), **curves}


def load_step_metrics(table: QuerySet, names: Sequence[str] = ()) -> list[Row]:
    """Return steps with their metrics; for few names the database extracts only these and the axis metrics."""
    if not 0 < len(names) <= FEW:
        return list(table.values_list("step", "metrics"))
    wanted = list(dict.fromkeys((*names, *ALONG)))
    stored = table.values_list("step", *(KeyTransform(name, "metrics") for name in wanted))
    return [(step, dict(zip(wanted, values, strict=True))) for step, *values in stored]


def columns(rows: Sequence[Row], names: Iterable[str], most: int, first: int = 0, last: int | None = None) -> Columns:
    """Return the steps from `first` to `last`, their positions on the other axes, and the values of each metric.

    A series that lacks values at some steps, or is downsampled to `most` points that preserve its shape and extremes,
    is `{"at": indices into the steps, "values": ...}`.
    """
    inside = [i for i, (step, _) in enumerate(rows) if first <= step and (last is None or step <= last)]
    steps, lines = [rows[i][0] for i in inside], [rows[i][1] for i in inside]
    found = {name: extract_values(lines, name) for name in names}
    return {
        "step": steps,
        "axes": {name: [values[i] for i in inside] for name, values in axes(rows).items()},
        "series": {name: series(steps, values, most) for name, values in found.items() if values},
        "thinned": any(len(values) > most for values in found.values()),
    }


def load_nonfinite_values(
    table: QuerySet, names: Iterable[str], first: int = 0, last: int | None = None
) -> dict[str, Any]:
    """Return by metric the steps with NaN or infinity, as [[41, "NaN"]], from the first MOST_ODD such steps."""
    there = table.filter(odd__isnull=False, step__gte=first)
    there = there if last is None else there.filter(step__lte=last)
    found: dict[str, list[list[Any]]] = {}
    wanted = {*names}
    for step, words in there.order_by("step").values_list("step", "odd")[:MOST_ODD]:
        for name in wanted & words.keys():
            found.setdefault(name, []).append([step, words[name]])
    return found


def extract_values(lines: Sequence[dict[str, Any]], name: str) -> list[tuple[int, float]]:
    """Return the values of a metric with their indices."""
    return [(i, line[name]) for i, line in enumerate(lines) if number(line.get(name))]


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def series(steps: Sequence[int], values: Sequence[tuple[int, float]], most: int) -> Any:
    if len(values) > most:
        at = np.array([steps[i] for i, _ in values], dtype=np.int64)
        heights = np.array([value for _, value in values], dtype=np.float64)
        values = [values[i] for i in MinMaxLTTBDownsampler().downsample(at, heights, n_out=most)]
    if len(values) == len(steps):
        return [value for _, value in values]
    return {"at": [i for i, _ in values], "values": [value for _, value in values]}


def axes(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Return each step's position on the other axes: cumulative tokens and elapsed time, if the run records them."""
    tokens, seconds = ([line.get(name) for _, line in rows] for name in ALONG)
    found = {"tokens": np.cumsum(tokens).tolist()} if all(map(number, tokens)) else {}
    return found | ({"time": seconds} if all(map(number, seconds)) else {})


def round_floats(value: Any) -> Any:
    """Return the value with floats rounded to the precision of a chart."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [round_floats(each) for each in value]
    if isinstance(value, dict):
        return {name: round_floats(each) for name, each in value.items()}
    return value
