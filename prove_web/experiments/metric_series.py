"""A run's curves as columns, thinned out where there are more points than a chart can show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from django.db.models import Max, QuerySet
from django.db.models.fields.json import KeyTransform
from tsdownsample import MinMaxLTTBDownsampler

from .chart_markers import marks
from .charts import charted
from .models import Run

MOST = 1_500  # points of one series that a browser is sent at once; zooming in asks for those between
FEW = 12  # metrics that are read faster one by one than all together
ALONG = ("tokens", "elapsed_s")
MOST_ODD = 1_500  # steps with something that is no number, of which a browser is told
DIGITS = 7  # of a number in a snapshot
Row = tuple[int, dict[str, Any]]
Columns = dict[str, Any]


def snapshot(run: Run) -> dict[str, Any]:
    """Everything up to `cursor`; what comes after it comes over the socket, and a step told twice replaces itself.

    The cursor is read first, so that an event stored meanwhile is told again rather than left out.
    """
    cursor = run.job.events.aggregate(last=Max("id"))["last"] or 0
    curves = {
        source: rounded(columns(rows(table), charted(source, run), MOST)) | {"odd": odd(table, charted(source, run))}
        for source, table in (("points", run.points.all()), ("held_out", run.held_out.all()))
    }
    return {"cursor": cursor, "job": str(run.job_id), "over": run.job.ended, "marks": marks(run), **curves}


def rows(table: QuerySet, names: Sequence[str] = ()) -> list[Row]:
    """Steps and their metrics; of a few names the database reads those alone, and what the axes need."""
    if not 0 < len(names) <= FEW:
        return list(table.values_list("step", "metrics"))
    asked = list(dict.fromkeys((*names, *ALONG)))
    told = table.values_list("step", *(KeyTransform(name, "metrics") for name in asked))
    return [(step, dict(zip(asked, values, strict=True))) for step, *values in told]


def columns(rows: Sequence[Row], names: Iterable[str], most: int, first: int = 0, last: int | None = None) -> Columns:
    """The steps from `first` to `last`, where each lies on the other axes, and of each metric its values.

    A series that does not have a value at every step, or that is thinned out to `most` points which keep its shape and
    its extremes, is `{"at": places among the steps, "values": ...}`.
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


def odd(table: QuerySet, names: Iterable[str], first: int = 0, last: int | None = None) -> dict[str, Any]:
    """By metric the steps where it was no number, with what it was: [[41, "NaN"]]; of the first MOST_ODD steps."""
    there = table.filter(odd__isnull=False, step__gte=first)
    there = there if last is None else there.filter(step__lte=last)
    found: dict[str, list[list[Any]]] = {}
    wanted = {*names}
    for step, words in there.order_by("step").values_list("step", "odd")[:MOST_ODD]:
        for name in wanted & words.keys():
            found.setdefault(name, []).append([step, words[name]])
    return found


def extract_values(lines: Sequence[dict[str, Any]], name: str) -> list[tuple[int, float]]:
    """The values of a metric with their places."""
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
    """Where each step lies on the axes besides its number: tokens and seconds so far, for runs that count them."""
    tokens, seconds = ([line.get(name) for _, line in rows] for name in ALONG)
    found = {"tokens": np.cumsum(tokens).tolist()} if all(map(number, tokens)) else {}
    return found | ({"time": seconds} if all(map(number, seconds)) else {})


def rounded(value: Any) -> Any:
    """The same with as many digits as a chart can show."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return value
