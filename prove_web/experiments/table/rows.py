"""Rows and cells of the runs table; the number of queries does not grow with rows or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet

from prove_web.accounts.models import Project

from ..metric_stats import compute_bucket_means
from ..models import MetricSummary, Run, RunSetting
from ..outside.config_flatten import choose_number_or_text
from ..querysets import annotate_runs
from ..reward_config import describe_reward
from ..run_metadata import in_sight
from ..sparkline import Sparkline
from ..summary_tiles import format_metric_value
from .columns import Column, Measure, column
from .external_columns import ExternalSetting
from .params import TableParams
from .search import SearchCondition, build_search_condition
from .settings import PRESET, Setting

CURVED = ("now", "last")  # metric forms shown with a sparkline
TINY = 1e-3


@dataclass(frozen=True)
class Cell:
    """A cell.

    `value` for export, `text` for display; for metrics also a sparkline, and for current ones a start value.
    """

    column: Column
    value: Any = None
    text: str = ""
    start: str = ""
    line: Sparkline | None = None


@dataclass(frozen=True)
class Row:
    """A row; `reward` describes the run's reward if it differs from the paper's."""

    run: Run
    cells: list[Cell]
    reward: str


@dataclass(frozen=True)
class Read:
    """Related objects loaded in bulk for the cells of several runs."""

    summaries: dict[tuple[int, str, str], MetricSummary]
    given: dict[tuple[int, str], RunSetting]
    policies: dict[str, str]


def filter_runs(project: Project, params: TableParams) -> tuple[QuerySet[Run], SearchCondition]:
    """Return the runs that match the parameters, unordered."""
    rows = in_sight(project)
    if params.archived != "too":
        rows = rows.filter(archived_at__isnull=params.archived != "only")
    condition = build_search_condition(project, params.query)
    return rows.filter(condition.rows), condition


def order_runs(rows: QuerySet[Run], sort: str) -> QuerySet[Run]:
    """Order by pinned first, then by a column; missing values come last, ties are ordered by number."""
    one = column(sort.removeprefix("-"))
    if one is None:
        return rows.order_by("-pinned", "-number")
    values = (one.number, one.value) if isinstance(one, ExternalSetting) else (one.value,)
    keys = {f"sorted_by_{place}": value for place, value in enumerate(values)}
    down = sort.startswith("-")
    order = [F(key).desc(nulls_last=True) if down else F(key).asc(nulls_last=True) for key in keys]
    return rows.alias(**keys).order_by("-pinned", *order, "-number")


def build_page_rows(rows: QuerySet[Run], columns: Sequence[Column]) -> list[Row]:
    """Return the rows of runs that fit on one page."""
    return build_rows(list(annotate_columns(rows, columns)), columns)


def annotate_columns(rows: QuerySet[Run], columns: Sequence[Column]) -> QuerySet[Run]:
    settings = {f"setting_{one.key}": one.value for one in columns if isinstance(one, Setting)}
    return annotate_runs(rows).annotate(**settings)


def build_rows(runs: Sequence[Run], columns: Sequence[Column]) -> list[Row]:
    read = Read(summaries(runs, columns), load_external_settings(runs, columns), started_from(runs))
    return [
        Row(run, [cell(run, one, read) for one in columns], describe_reward(getattr(run, "scored_by", None)))
        for run in runs
    ]


def summaries(runs: Sequence[Run], columns: Sequence[Column]) -> dict[tuple[int, str, str], MetricSummary]:
    names = {one.name for one in columns if isinstance(one, Measure)}
    if not names:
        return {}
    stored = MetricSummary.objects.filter(run__in=[run.pk for run in runs], name__in=names)
    return {(one.run_id, one.source, one.name): one for one in stored}


def load_external_settings(runs: Sequence[Run], columns: Sequence[Column]) -> dict[tuple[int, str], RunSetting]:
    names = [one.name for one in columns if isinstance(one, ExternalSetting)]
    stored = RunSetting.objects.filter(run__in=[run.pk for run in runs], name__in=names) if names else ()
    return {(one.run_id, one.name): one for one in stored}


def cell(run: Run, one: Column, read: Read) -> Cell:
    if isinstance(one, Measure):
        return measure_cell(one, read.summaries.get((run.pk, one.source, one.name)))
    if isinstance(one, ExternalSetting):
        setting = read.given.get((run.pk, one.name))
        return Cell(one, choose_number_or_text(setting.text, setting.number), setting.text) if setting else Cell(one)
    if isinstance(one, Setting):
        value = getattr(run, f"setting_{one.key}")
        if one.key == PRESET:
            return Cell(one, value, describe_reward(getattr(run, "scored_by", None)) or "The paper's")
        return Cell(one, value, read.policies.get(str(value), "") or one.text(value))
    value = getattr(run, one.key, None) if not one.field else follow(run, one.field)
    return Cell(one, value)


def follow(run: Run, path: str) -> Any:
    """Return the value at a path of attribute names joined by `__`; None if any of them is missing."""
    value: Any = run
    for name in path.split("__"):
        value = getattr(value, name, None)
    return value


def measure_cell(one: Measure, summary: MetricSummary | None) -> Cell:
    value = getattr(summary, one.field) if summary else None
    if summary is None or value is None:
        return Cell(one)
    start = format_measure(one, summary.start) if one.form == "now" and summary.start is not None else ""
    line = Sparkline.from_values(compute_bucket_means(summary.small)) if one.form in CURVED else None
    return Cell(one, value, format_measure(one, value), start, line)


def format_measure(one: Measure, value: float) -> str:
    """Format a metric value compactly."""
    metric = one.metric
    if metric is None or (0 < abs(value) < TINY and metric.unit in ("number", "nats", "s")):
        return f"{value:.4g}"
    return format_metric_value(value, metric.unit)


def started_from(runs: Sequence[Run]) -> dict[str, str]:
    """Return the descriptions of these runs' initial policies that come from other runs."""
    policies = {str(policy) for run in runs if (policy := getattr(run, "setting_policy", None))}
    jobs = {policy.removeprefix("run:").partition("/")[0] for policy in policies if policy.startswith("run:")}
    if not jobs:
        return {}
    named = Run.objects.filter(project=runs[0].project_id, job__in=[job for job in jobs if is_id(job)])
    numbers = {str(job): number for job, number in named.values_list("job", "number")}
    return {policy: title(policy, numbers) for policy in policies if policy.startswith("run:")}


def is_id(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False


def title(policy: str, numbers: dict[str, int]) -> str:
    job, _, checkpoint = policy.removeprefix("run:").partition("/")
    name = f"run {numbers[job]}" if job in numbers else "deleted run"
    return f"{name}, {checkpoint}" if checkpoint else name
