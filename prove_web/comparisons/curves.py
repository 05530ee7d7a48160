"""Curves of several runs, loaded in a constant number of queries.

Where there are more steps than a chart can show, the database averages each bucket of steps into one point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Avg, Case, F, Max, Sum

from prove_web.core.json_number import json_number
from prove_web.experiments.charts import Source
from prove_web.experiments.metric_series import round_floats
from prove_web.experiments.models import HeldOut, Point, Run

from .aggregate import Curve, band
from .groups import Group, build_single_run_groups, groups
from .params import HELD_OUT, ComparisonParams, list_chart_metrics

MOST_POINTS = 20_000  # of all runs together, per metric
TABLES: dict[Source, type[Point] | type[HeldOut]] = {"points": Point, "held_out": HeldOut}


@dataclass(frozen=True)
class Places:
    """Cumulative tokens and seconds at each step of a run; None where the run does not record them."""

    steps: list[int]
    tokens: list[float] | None
    time: list[float] | None

    def get_axis_positions(self, axis: str, steps: Sequence[int]) -> list[float] | None:
        if axis == "step":
            return list(steps)
        places = self.tokens if axis == "tokens" else self.time
        if places is None:
            return None
        found: list[float] = np.interp(steps, [0, *self.steps], [0.0, *places]).tolist()
        return found


@dataclass(frozen=True)
class CurveData:
    """Curves by run and metric, and axis positions by run; a point is the mean over `every` steps."""

    curves: dict[tuple[int, str], Curve]
    places: dict[int, Places]
    every: int


def read(runs: Sequence[Run], metrics: Sequence[str], first: int = 0, last: int | None = None) -> CurveData:
    """Load the metrics by their query-parameter names, in at most three queries."""
    keys = [run.pk for run in runs]
    every = stride(keys, first, last)
    curves: dict[tuple[int, str], Curve] = {}
    places = dict.fromkeys(keys, Places([], None, None))
    for source in TABLES:
        mine = [name for name in metrics if name.startswith(HELD_OUT) == (source == "held_out")]
        if source == "held_out" and not mine:
            continue
        rows = buckets(
            source,
            keys,
            [strip_held_out_prefix(name) for name in mine],
            every if source == "points" else 1,
            first,
            last,
        )
        for key in keys:
            lines = [row for row in rows if row["run"] == key]
            if source == "points":
                places[key] = build_axis_values(lines)
            for number, name in enumerate(mine):
                there = [(line["at"], line[f"m{number}"]) for line in lines if line[f"m{number}"] is not None]
                curves[key, name] = Curve([at for at, _ in there], [value for _, value in there])
    return CurveData(curves, places, every)


def strip_held_out_prefix(name: str) -> str:
    return name.removeprefix(HELD_OUT)


def stride(keys: Sequence[int], first: int, last: int | None) -> int:
    """Return the number of steps to average per point so that all runs together have at most MOST_POINTS."""
    ends = (
        Point.objects.filter(run__in=keys).order_by().values("run").annotate(m=Max("step")).values_list("m", flat=True)
    )
    steps = sum(max(0, min(end, last if last is not None else end) - first) for end in ends)
    return max(1, math.ceil(steps / MOST_POINTS))


def number(name: str) -> Case:
    return json_number(name, "metrics")


def buckets(
    source: Source, keys: Sequence[int], names: Sequence[str], every: int, first: int, last: int | None
) -> list[dict[str, Any]]:
    rows = TABLES[source].objects.filter(run__in=keys, step__gte=first)
    rows = rows if last is None else rows.filter(step__lte=last)
    averages = {f"m{at}": Avg(number(name)) for at, name in enumerate(names)}
    if source == "points":
        averages |= {"tokens": Sum(number("tokens")), "seconds": Max(number("elapsed_s"))}
    found = rows.order_by().annotate(bucket=F("step") / every).values("run", "bucket")
    return list(found.annotate(at=Max("step"), **averages).order_by("run", "bucket"))


def build_axis_values(lines: Sequence[dict[str, Any]]) -> Places:
    steps = [line["at"] for line in lines]
    tokens, seconds = ([line[name] for line in lines] for name in ("tokens", "seconds"))
    return Places(
        steps,
        np.cumsum(tokens).tolist() if lines and None not in tokens else None,
        seconds if lines and None not in seconds else None,
    )


def build_chart_data(selection: ComparisonParams, first: int = 0, last: int | None = None) -> dict[str, Any]:
    """Return the chart data for the browser: the lines of each metric, one per run, or one per group with a band.

    A line is {"name", "colour", "runs", "step", "x", "y"} and, for several runs, "low", "high" and "count". Lines of
    runs that do not record the axis quantity are omitted, and `left_out` has the numbers of these runs.
    """
    data = read(selection.runs, selection.metrics, first, last)
    lots = groups(selection.runs) if selection.grouped else build_single_run_groups(selection.runs)
    titles = list_chart_metrics(selection.runs)
    charts = [
        {
            **describe_chart(*titles[name]),
            "metric": name,
            "lines": [line for lot in lots if (line := drawn_of(lot, name, data, selection))],
        }
        for name in selection.metrics
    ]
    silent = [
        run.number for run in selection.runs if data.places[run.pk].get_axis_positions(selection.axis, []) is None
    ]
    found: dict[str, Any] = round_floats(
        {"every": data.every, "axis": selection.axis, "left_out": silent, "charts": charts}
    )
    return found


def describe_chart(chart: Any, title: str) -> dict[str, Any]:
    alone = len(chart.lines) == 1 or title.lower() == chart.title.lower()
    at = [name for name, _ in chart.lines].index(title)
    return {"title": chart.title if alone else f"{chart.title}: {title}", "unit": chart.unit, "help": [chart.help[at]]}


def drawn_of(lot: Group, name: str, data: CurveData, selection: ComparisonParams) -> dict[str, Any] | None:
    """Return the line of a group; None where no run has both the metric and a position on the axis."""
    members = [run for run in lot.runs if data.curves[run.pk, name].steps]
    members = [run for run in members if data.places[run.pk].get_axis_positions(selection.axis, []) is not None]
    if not members:
        return None
    found = band([data.curves[run.pk, name] for run in members], selection.band or "range")
    line = {"name": lot.title, "colour": lot.number, "runs": [run.number for run in members]}
    line |= {
        "step": found.steps,
        "x": average_axis_positions(members, data, selection.axis, found.steps),
        "y": found.mean,
    }
    if len(members) > 1:
        line |= {"count": found.count} | ({"low": found.low, "high": found.high} if selection.band else {})
    return line


def average_axis_positions(members: Sequence[Run], data: CurveData, axis: str, steps: list[int]) -> list[float]:
    """Return the axis positions of the steps, averaged over the runs that reach each step."""
    if axis == "step":
        return list(steps)
    ways = [data.places[run.pk] for run in members]
    return band([Curve([0, *one.steps], one.get_axis_positions(axis, [0, *one.steps]) or []) for one in ways]).mean_at(
        steps
    )
