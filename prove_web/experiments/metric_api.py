"""JSON and CSV endpoint for a run's metrics: selected metrics, a step range, and a maximum number of points."""

from __future__ import annotations

import csv
import re
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, JsonResponse, QueryDict
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.monitoring.metrics.names import is_valid_name

from .charts import list_charted_metrics
from .detail import run_of
from .metric_series import MOST, columns, load_nonfinite_values, load_step_metrics
from .models import Run

LARGEST = 100_000  # points per series in one response
SOURCES = ("points", "held_out")


class BadQuery(ValueError):
    """Error for an invalid query; the message says which parameter is wrong and what is allowed."""


@in_project(Action.VIEW)
@require_safe
def run_metric(request: ProjectRequest, run: int) -> HttpResponse:
    """Return metrics as JSON or CSV: `?names=reward,kl&from=100&to=200&points=500&source=held_out`, all optional.

    With `format=csv` the response is a file with a row per step and a column per metric. Otherwise it is like the
    page's snapshot (see metric_series.columns) at full precision: `step`, `axes` and `series` by name, and whether the
    series were downsampled (`thinned`). Metrics that the run never logged are missing from the series, and `odd` lists
    NaN and infinite values.
    """
    found = run_of(request.project, run)
    try:
        if request.GET.get("format") == "csv":
            return table_of(found, request.GET)
        return JsonResponse(metrics_of(found, request.GET))
    except BadQuery as error:
        return JsonResponse({"error": str(error)}, status=400)


def metrics_of(run: Run, query: QueryDict) -> dict[str, Any]:
    """Return the metrics that a query asks for. Raises BadQuery."""
    source, names, first, last, most = parse_params(run, query)
    table = curve(run, source)
    found = columns(load_step_metrics(table, names), names, most, first, last)
    return {"run": run.number, "source": source, **found, "odd": load_nonfinite_values(table, names, first, last)}


def table_of(run: Run, query: QueryDict) -> HttpResponse:
    """Return the same data as CSV at full precision; missing values are empty, NaN and infinity words.

    Raises BadQuery.
    """
    source, names, first, last, _ = parse_params(run, query)
    table = curve(run, source)
    words = dict(table.filter(odd__isnull=False).values_list("step", "odd"))
    points = [row for row in load_step_metrics(table, names) if first <= row[0] <= (last or row[0])][:LARGEST]
    name = f"run-{run.number}-{'-'.join(names)[:60]}.csv"
    answer = HttpResponse(content_type="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}"'})
    lines = csv.writer(answer)
    lines.writerow(["step", *names])
    lines.writerows([step, *({**one, **words.get(step, {})}.get(name) for name in names)] for step, one in points)
    return answer


def curve(run: Run, source: str) -> QuerySet:
    return run.held_out.all() if source == "held_out" else run.points.all()


def parse_params(run: Run, query: QueryDict) -> tuple[str, list[str], int, int | None, int]:
    source = query.get("source", "points")
    if source not in SOURCES:
        raise BadQuery(f"source must be one of {', '.join(SOURCES)}, not {source[:50]!r}.")
    names = [name for name in query.get("names", "").split(",") if name] or list_charted_metrics(source, run)
    for name in names:
        if not is_valid_name(name):
            raise BadQuery(f"names must be comma-separated metric names; {name[:50]!r} is not one.")
    first, last = parse_int(query, "from", 0), parse_int(query, "to", None)
    most = parse_int(query, "points", MOST)
    if most is None or not 3 <= most <= LARGEST:
        raise BadQuery(f"points must be from 3 to {LARGEST:,}.")
    return source, names, first or 0, last, most


def parse_int(query: QueryDict, name: str, default: int | None) -> Any:
    """Return a non-negative integer parameter. Raises BadQuery."""
    text = query.get(name, "")
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise BadQuery(f"{name} must be a whole number, not {text[:50]!r}.")
    return int(text)
