"""The report of an evaluation as pages show it: a line per category and one for all, beside the paper's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Count, Q

from prove_web.live.models import State
from training_worker.prove.benchmarks import published_scores
from training_worker.prove.benchmarks.registry import KNOWN
from training_worker.prove.benchmarks.report import Report
from training_worker.prove.trajectory import adapter

from .models import Evaluation

MEANS = ("silent", "goal_success", "act_accuracy")  # shares of a category, each None where nobody knows it


@dataclass(frozen=True)
class Mark:
    """A reference on a bar, `at` percent: what it is called, and which sign it has."""

    at: float
    title: str
    sign: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """A category, or all of them: counts, and in percent its accuracy, interval and references, as far as known."""

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
        """Of the interval."""
        return round(self.high - self.low, 2) if self.low is not None else 0.0

    @property
    def missing(self) -> int:
        return (self.asked or 0) - (self.run or 0)


def report_in(result: Mapping[str, Any]) -> Report | None:
    """None where there is none, or one that cannot be read."""
    try:
        return adapter(Report).validate_python(result["report"])
    except (KeyError, TypeError, ValueError):
        return None


def report_of(evaluation: Evaluation) -> Report | None:
    """Only of an evaluation that is done: another attempt may be changing it."""
    return report_in(evaluation.job.result) if evaluation.job.state == State.DONE else None


def title_of(benchmark: str) -> str:
    return KNOWN[benchmark].title if benchmark in KNOWN else benchmark


def categories_of(benchmark: str) -> tuple[str, ...]:
    """In the benchmark's own order, as far as it is known."""
    return KNOWN[benchmark].categories if benchmark in KNOWN else published_scores.COLUMNS.get(benchmark, ())


def percent(share: float) -> float:
    return round(100 * share, 2)


def lines_of(report: Report, references: Mapping[str, tuple[Mark, ...]]) -> tuple[list[Line], Line | None]:
    """The categories, and all of them, with the references of each column."""
    lines = [
        Line(
            name=one.name,
            asked=one.asked,
            run=one.run,
            passed=one.passed,
            **scored(one.score),
            pass_hat=tuple(map(percent, one.pass_hat)),
            **{name: None if (share := getattr(one, name)) is None else percent(share) for name in MEANS},
            paper=references.get(one.name, ()),
        )
        for one in report.categories
    ]
    overall = published_scores.OVERALL
    if report.overall is None:
        return lines, None
    return lines, Line(name=overall, **scored(report.overall), paper=references.get(overall, ()), **summed(lines))


def groups_of(report: Report, references: Mapping[str, tuple[Mark, ...]]) -> list[Line]:
    """Of a benchmark that counts categories together: each group, by its mean."""
    groups = getattr(report, "groups", ())
    return [Line(name=one.name, **scored(one.score), paper=references.get(one.name, ())) for one in groups]


def scored(score: Any) -> dict[str, Any]:
    return (
        {"accuracy": percent(score.accuracy), "low": percent(score.low), "high": percent(score.high)} if score else {}
    )


def summed(lines: list[Line]) -> dict[str, Any]:
    """The counts of all categories; the rest are their means, as the overall score is."""
    counts = {name: sum(getattr(line, name) for line in lines) for name in ("asked", "run", "passed")}
    return counts | {name: mean_of([getattr(line, name) for line in lines]) for name in MEANS}


def mean_of(values: list[float | None]) -> float | None:
    """None unless all are known."""
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 2) if known and len(known) == len(values) else None


def references(benchmark: str, model: str) -> dict[str, tuple[Mark, ...]]:
    """By column, what the paper tells of one of its models before and after training, if anything."""
    found: dict[str, tuple[Mark, ...]] = {}
    for one in published_scores.rows(benchmark):
        if one.model == model and one.stage != "SFT":
            for column, score in one.scores.items():
                mark = Mark(score, f"paper, {model} {one.stage}", one.stage.lower())
                found[column] = (*found.get(column, ()), mark)
    return found


def paper_model(evaluation: Evaluation, asked: str) -> str:
    """The paper's model that it stands beside: as asked for, or the one that it is or comes from, or the first."""
    if asked in published_scores.MODELS:
        return asked
    start = evaluation.run.config.get("policy", "") if evaluation.run else ""
    return (
        published_scores.model_like(evaluation.model)
        or published_scores.model_like(str(start))
        or published_scores.MODELS[0]
    )


def so_far(evaluation: Evaluation) -> list[Line]:
    """What is counted of the items that have ended, in the benchmark's order; these are no scores."""
    told = evaluation.items.order_by().values("category")
    counted = told.annotate(run=Count("id"), passes=Count("id", filter=Q(passed=True)), mean=Avg("value"))
    found = {
        each["category"]: Line(
            name=each["category"], run=each["run"], passed=each["passes"], accuracy=percent(each["mean"])
        )
        for each in counted
    }
    first = [found.pop(name) for name in categories_of(evaluation.benchmark) if name in found]
    return [*first, *(found[name] for name in sorted(found))]


def sum_lines(lines: list[Line]) -> Line | None:
    """All that has ended, in one line."""
    if not lines:
        return None
    run, passed = sum(line.run or 0 for line in lines), sum(line.passed or 0 for line in lines)
    return Line(name="all", run=run, passed=passed)


def reasons(report: Report) -> list[tuple[str, list[str]]]:
    """Why items were not run, the most frequent first, each with their ids."""
    counted = Counter(report.not_run.values())
    return [(why, [id for id, given in report.not_run.items() if given == why]) for why, _ in counted.most_common()]
