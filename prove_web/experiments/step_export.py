"""Download of a step's rollouts: those that match the page's filter, in its order, one per line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from prove_web.accounts import audit
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.datasets.export.lines import escape_formula
from training_worker.store.query import StepTable
from training_worker.store.record import COMPONENTS

from .detail import run_of
from .rollouts import NoRollouts, table_of
from .step_form import StepForm, order_of

COLUMNS = (
    *("index", "group", "place", "example", "reward", "advantage", *COMPONENTS, "abstention", "end", "failed_at"),
    *("calls", "failed_calls", "tools", "outcomes", "prompt_tokens", "model_tokens", "completion_tokens", "seconds"),
)
FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


@in_project(Action.VIEW)
@require_safe
def export(request: ProjectRequest, run: int, step: int, format: str) -> HttpResponse | StreamingHttpResponse:
    """Stream the filtered and sorted rollouts of the step, one line each."""
    found, form = run_of(request.project, run), StepForm(request.GET)
    if format not in FORMATS:
        raise Http404("Rollouts are exported as csv or jsonl.")
    try:
        table = table_of(found, step, every_column=True)
    except NoRollouts as error:
        raise Http404(str(error)) from error
    lines = lines_of(table.filter_rollouts(form.rollout_filter).sort_rows(*order_of(request.GET.get("sort", ""))))
    name = f"run-{run}-step-{step}.{format}"
    audit.note(None, "exported", found, request.organisation, rollouts=f"step {step}", file=name)
    return StreamingHttpResponse(
        as_csv(lines) if format == "csv" else as_jsonl(lines),
        content_type=FORMATS[format],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def lines_of(table: StepTable) -> Iterator[dict[str, Any]]:
    columns = {name: table.column(name) for name in COLUMNS}
    for at in range(len(table)):
        yield {name: replace_nonfinite(values[at]) for name, values in columns.items()}


def replace_nonfinite(value: Any) -> Any:
    """Return the value, or None for NaN and infinity, which JSON lacks."""
    return None if isinstance(value, float) and not isfinite(value) else value


def as_jsonl(lines: Iterator[dict[str, Any]]) -> Iterator[str]:
    for one in lines:
        yield json.dumps(one, ensure_ascii=False) + "\n"


class Echo:
    """A file-like object that returns what is written to it."""

    def write(self, text: str) -> str:
        return text


def as_csv(lines: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield the rows as CSV; lists are space-separated."""
    write = csv.writer(Echo()).writerow
    yield write(COLUMNS)
    for one in lines:
        yield write([cell(value) for value in one.values()])


def cell(value: Any) -> Any:
    return escape_formula(" ".join(map(str, value)) if isinstance(value, list) else value)
