"""Streamed export of the runs table with all rows and its current columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from prove_web.review.labels import Echo
from training_worker.datasets.export.lines import escape_formula

from ..models import Run
from .columns import Column
from .rows import Row, annotate_columns, build_rows

TOGETHER = 200  # rows in memory at a time
FORMATS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
FIXED = ("number", "name", "tags", "pinned", "archived", "notes")


def iter_export_rows(numbers: Sequence[int], columns: Sequence[Column]) -> Iterator[dict[str, Any]]:
    """Yield one row per run by column key; `numbers` are primary keys in output order."""
    for start in range(0, len(numbers), TOGETHER):
        some = numbers[start : start + TOGETHER]
        runs = {run.pk: run for run in annotate_columns(Run.objects.filter(pk__in=some), columns).defer(None)}
        yield from (line(row) for row in build_rows([runs[pk] for pk in some if pk in runs], columns))


def line(row: Row) -> dict[str, Any]:
    run = row.run
    fixed = (run.number, run.name, run.tags, run.pinned, run.archived_at is not None, run.notes)
    return {
        **dict(zip(FIXED, fixed, strict=True)),
        **{cell.column.key: format_export_value(cell.value) for cell in row.cells},
    }


def format_export_value(value: Any) -> Any:
    """Convert times to ISO 8601 and durations to seconds."""
    if isinstance(value, datetime):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, timedelta) else value


def as_csv(found: Iterator[dict[str, Any]], columns: Sequence[Column]) -> Iterator[str]:
    write = csv.writer(Echo()).writerow
    names = [*FIXED, *(one.key for one in columns)]
    yield write([format_csv_cell(name) for name in names])
    for one in found:
        yield write([format_csv_cell(one[name]) for name in names])


def format_csv_cell(value: Any) -> Any:
    """Return a value for one cell, escaped so that spreadsheets do not treat it as a formula."""
    if isinstance(value, list | dict):
        value = ", ".join(value) if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape_formula(value)


def as_json(found: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield a JSON list of objects."""
    yield "["
    for place, one in enumerate(found):
        yield ("," if place else "") + "\n" + json.dumps(one, ensure_ascii=False)
    yield "\n]\n"
