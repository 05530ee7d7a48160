"""Evaluation reports for pages: a line per category and one overall, next to the paper's scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Count, Q

from prove_web.live.models import State
from training_worker.core.trajectory import adapter
from training_worker.evaluation import published_scores
from training_worker.evaluation.registry import KNOWN
from training_worker.evaluation.report import Report

from .models import Evaluation

MEANS = ("silent", "goal_success", "act_accuracy")  # shares per category, None where unknown


@dataclass(frozen=True)
class Mark:
    """A reference on a bar at `at` percent, with its title and symbol."""

    at: float
    title: str
    sign: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """A category, or the overall line: counts, and in percent accuracy, interval and references, as far as known."""

    name: str
    asked: int | None = None
    run: int | None = None
    passed: int | None = None
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    pass_hat: tuple[float, ...] = ()
    silent: float | None = None
    goal_success: float | None = None
    act_accuracy: float | None = None
    paper: tuple[Mark, ...] = ()

    @property
    def width(self) -> float:
        """Return the width of the interval."""
        return round(self.high - self.low, 2) if self.low is not None else 0.0

    @property
    def missing(self) -> int:
        return (self.asked or 0) - (self.run or 0)


def report_in(result: Mapping[str, Any]) -> Report | None:
    """Return the report of a job result; None if missing or unreadable."""
    try:
        return adapter(Report).validate_python(result["report"])
    except (KeyError, TypeError, ValueError):
        return None


def report_of(evaluation: Evaluation) -> Report | None:
    """Return the report of a finished evaluation only, because another attempt may be changing it."""
    return report_in(evaluation.job.result) if evaluation.job.state == State.DONE else None


def title_of(benchmark: str) -> str:
    return KNOWN[benchmark].title if benchmark in KNOWN else benchmark


def categories_of(benchmark: str) -> tuple[str, ...]:
    """Return the categories in the benchmark's order, as far as known."""
    return KNOWN[benchmark].categories if benchmark in KNOWN else published_scores.COLUMNS.get(benchmark, ())


def percent(share: float) -> float:
    return round(100 * share, 2)


def lines_of(report: Report, references: Mapping[str, tuple[Mark, ...]]) -> tuple[list[Line], Line | None]:
    """Return the category lines and the overall line, with the references of each column."""
    lines = [
        Line(
            name=one.name,
            asked=one.asked,
            run=one.run,
            passed=one.passed,
            **get_score_percentages(one.score),
            pass_hat=tuple(map(percent, one.pass_hat)),
            **{name: None if (share := getattr(one, name)) is None else percent(share) for name in MEANS},
            paper=references.get(one.name, ()),
        )
        for one in report.categories
    ]
    overall = published_scores.OVERALL
    if report.overall is None:
        return lines, None
    return lines, Line(
        name=overall,
        **get_score_percentages(report.overall),
        paper=references.get(overall, ()),
        **aggregate_line_values(lines),
    )


def groups_of(report: Report, references: Mapping[str, tuple[Mark, ...]]) -> list[Line]:
    """Return the group lines of a benchmark that averages categories in groups."""
    groups = getattr(report, "groups", ())
    return [
        Line(name=one.name, **get_score_percentages(one.score), paper=references.get(one.name, ())) for one in groups
    ]


def get_score_percentages(score: Any) -> dict[str, Any]:
    return (
        {"accuracy": percent(score.accuracy), "low": percent(score.low), "high": percent(score.high)} if score else {}
    )


def aggregate_line_values(lines: list[Line]) -> dict[str, Any]:
    """Return the total counts, and unweighted means of the shares, as for the overall score."""
    counts = {name: sum(getattr(line, name) for line in lines) for name in ("asked", "run", "passed")}
    return counts | {name: mean_of([getattr(line, name) for line in lines]) for name in MEANS}


def mean_of(values: list[float | None]) -> float | None:
    """Return the mean, or None unless all values are known."""
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 2) if known and len(known) == len(values) else None


def references(benchmark: str, model: str) -> dict[str, tuple[Mark, ...]]:
    """Return by column the paper's scores of one of its models before and after training."""
    found: dict[str, tuple[Mark, ...]] = {}
    for one in published_scores.list_published_rows(benchmark):
        if one.model == model and one.stage != "SFT":
            for column, score in one.scores.items():
                mark = Mark(score, f"paper, {model} {one.stage}", one.stage.lower())
                found[column] = (*found.get(column, ()), mark)
    return found


def paper_model(evaluation: Evaluation, name: str) -> str:
    """Return the paper's model to compare with: the requested, the matching, or the first one."""
    if name in published_scores.MODELS:
        return name
    start = evaluation.run.config.get("policy", "") if evaluation.run else ""
    return (
        published_scores.model_like(evaluation.model)
        or published_scores.model_like(str(start))
        or published_scores.MODELS[0]
    )


def so_far(evaluation: Evaluation) -> list[Line]:
    """Return preliminary lines for the finished items in the benchmark's order; they are not final scores."""
    groups = evaluation.items.order_by().values("category")
    counted = groups.annotate(run=Count("id"), passes=Count("id", filter=Q(passed=True)), mean=Avg("value"))
    found = {
        each["category"]: Line(
            name=each["category"], run=each["run"], passed=each["passes"], accuracy=percent(each["mean"])
        )
        for each in counted
    }
    first = [found.pop(name) for name in categories_of(evaluation.benchmark) if name in found]
    return [*first, *(found[name] for name in sorted(found))]


def sum_lines(lines: list[Line]) -> Line | None:
    """Return the total of the finished items."""
    if not lines:
        return None
    run, passed = sum(line.run or 0 for line in lines), sum(line.passed or 0 for line in lines)
    return Line(name="all", run=run, passed=passed)


def reasons(report: Report) -> list[tuple[str, list[str]]]:
    """Return the reasons why items were not run, most frequent first, with the item ids."""
    counted = Counter(report.not_run.values())
    return [(why, [id for id, given in report.not_run.items() if given == why]) for why, _ in counted.most_common()]
