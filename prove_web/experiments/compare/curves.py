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

from prove_web.json_number import json_number

from ..charts import Source
from ..metric_series import rounded
from ..models import HeldOut, Point, Run
from .aggregate import Curve, band
from .groups import Group, alone, groups
from .params import HELD_OUT, Chosen, offered

MOST_POINTS = 20_000  # of all runs together, per metric
TABLES: dict[Source, type[Point] | type[HeldOut]] = {"points": Point, "held_out": HeldOut}


@dataclass(frozen=True)
class Places:
    """Cumulative tokens and seconds at each step of a run; None where the run does not record them."""

    steps: list[int]
    tokens: list[float] | None
    time: list[float] | None

    def of(self, axis: str, steps: Sequence[int]) -> list[float] | None:
        if axis == "step":
            return list(steps)
        told = self.tokens if axis == "tokens" else self.time
        if told is None:
            return None
        found: list[float] = np.interp(steps, [0, *self.steps], [0.0, *told]).tolist()
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
        rows = buckets(source, keys, [bare(name) for name in mine], every if source == "points" else 1, first, last)
        for key in keys:
            lines = [row for row in rows if row["run"] == key]
            if source == "points":
                places[key] = placed(lines)
            for number, name in enumerate(mine):
                there = [(line["at"], line[f"m{number}"]) for line in lines if line[f"m{number}"] is not None]
                curves[key, name] = Curve([at for at, _ in there], [value for _, value in there])
    return CurveData(curves, places, every)


def bare(name: str) -> str:
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
    asked = {f"m{at}": Avg(number(name)) for at, name in enumerate(names)}
    if source == "points":
        asked |= {"tokens": Sum(number("tokens")), "seconds": Max(number("elapsed_s"))}
    found = rows.order_by().annotate(bucket=F("step") / every).values("run", "bucket")
    return list(found.annotate(at=Max("step"), **asked).order_by("run", "bucket"))


def placed(lines: Sequence[dict[str, Any]]) -> Places:
    steps = [line["at"] for line in lines]
    tokens, seconds = ([line[name] for line in lines] for name in ("tokens", "seconds"))
    return Places(
        steps,
        np.cumsum(tokens).tolist() if lines and None not in tokens else None,
        seconds if lines and None not in seconds else None,
    )


def drawn(asked: Chosen, first: int = 0, last: int | None = None) -> dict[str, Any]:
    """Return the chart data for the browser: the lines of each metric, one per run, or one per group with a band.

    A line is {"name", "colour", "runs", "step", "x", "y"} and, for several runs, "low", "high" and "count". Lines of
    runs that do not record the axis quantity are omitted, and `left_out` has the numbers of these runs.
    """
    told = read(asked.runs, asked.metrics, first, last)
    lots = groups(asked.runs) if asked.grouped else alone(asked.runs)
    titles = offered(asked.runs)
    charts = [
        {
            **described(*titles[name]),
            "metric": name,
            "lines": [line for lot in lots if (line := drawn_of(lot, name, told, asked))],
        }
        for name in asked.metrics
    ]
    silent = [run.number for run in asked.runs if told.places[run.pk].of(asked.axis, []) is None]
    found: dict[str, Any] = rounded({"every": told.every, "axis": asked.axis, "left_out": silent, "charts": charts})
    return found


def described(chart: Any, title: str) -> dict[str, Any]:
    alone = len(chart.lines) == 1 or title.lower() == chart.title.lower()
    at = [name for name, _ in chart.lines].index(title)
    return {"title": chart.title if alone else f"{chart.title}: {title}", "unit": chart.unit, "help": [chart.help[at]]}


def drawn_of(lot: Group, name: str, told: CurveData, asked: Chosen) -> dict[str, Any] | None:
    """Return the line of a group; None where no run has both the metric and a position on the axis."""
    members = [run for run in lot.runs if told.curves[run.pk, name].steps]
    members = [run for run in members if told.places[run.pk].of(asked.axis, []) is not None]
    if not members:
        return None
    found = band([told.curves[run.pk, name] for run in members], asked.band or "range")
    line = {"name": lot.title, "colour": lot.number, "runs": [run.number for run in members]}
    line |= {"step": found.steps, "x": along(members, told, asked.axis, found.steps), "y": found.mean}
    if len(members) > 1:
        line |= {"count": found.count} | ({"low": found.low, "high": found.high} if asked.band else {})
    return line


def along(members: Sequence[Run], told: CurveData, axis: str, steps: list[int]) -> list[float]:
    """Return the axis positions of the steps, averaged over the runs that reach each step."""
    if axis == "step":
        return list(steps)
    ways = [told.places[run.pk] for run in members]
    return band([Curve([0, *one.steps], one.of(axis, [0, *one.steps]) or []) for one in ways]).mean_at(steps)
