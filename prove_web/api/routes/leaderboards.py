"""API operations for paired comparison of evaluations, and for leaderboards."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import Http404
from ninja import Query, Router, Schema

from prove_web.accounts.roles import Action
from prove_web.evaluations.comparison import comparison_of
from prove_web.evaluations.leaderboard import entry, names_of, sorted_rows
from prove_web.evaluations.paired_comparison import Flip
from prove_web.evaluations.querysets import evaluation_of
from prove_web.evaluations.ranking import LeaderboardRow, boards, load_finished_evaluations
from prove_web.evaluations.reports import title_of
from training_worker.evaluation import published_scores
from training_worker.evaluation.compare import NotComparable
from training_worker.evaluation.registry import KNOWN

from ..errors import ApiError
from ..paging import Number
from ..permissions import in_project
from .evaluations import EVALUATION

router = Router(tags=["Evaluations"])
BOARDS = "/{slug:organisation}/{slug:project}/leaderboards"


class ComparedPart(Schema):
    """A category, or all tasks run by both: both scores and their paired difference with its interval, in percent."""

    name: str
    items: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    gained: int
    lost: int
    same_passed: int
    same_failed: int
    verdict: str


class FlipOut(Schema):
    """A task whose score, from 0 to 1, changed between the evaluations, with both items."""

    task: str
    category: str
    before: float
    after: float
    first_item: str
    second_item: str

    @staticmethod
    def resolve_first_item(flip: Flip) -> str:
        return flip.first.item

    @staticmethod
    def resolve_second_item(flip: Flip) -> str:
        return flip.second.item


class EvaluationsCompared(Schema):
    """`before` is the other evaluation, `after` this one."""

    before: int
    after: int
    overall: ComparedPart
    categories: list[ComparedPart]
    gained: list[FlipOut]
    lost: list[FlipOut]


class CellOut(Schema):
    """A score in percent, with its interval if known."""

    accuracy: float
    low: float | None
    high: float | None


class StandingOut(Schema):
    """The best evaluation of a model; `of` is the model's number of evaluations. Models that ran fewer tasks than
    others have no rank. `base` is an evaluation of the policy that its run started from."""

    rank: int | None
    evaluation: int
    model: str
    run: int | None
    checkpoint: str
    asked: int
    ran: int
    of: int
    baseline: bool
    base: int | None
    scores: dict[str, CellOut]


class BoardOut(Schema):
    """The models that ran one version of a benchmark with the same settings."""

    version: str
    settings: dict[str, Any]
    columns: list[str]
    standings: list[StandingOut]


class PaperRow(Schema):
    model: str
    stage: str
    scores: dict[str, float]


class Leaderboard(Schema):
    benchmark: str
    title: str
    boards: list[BoardOut]
    paper: list[PaperRow]


class LeaderboardSummary(Schema):
    """A benchmark with the top row of its newest leaderboard, and the best of the paper."""

    benchmark: str
    title: str
    about: str
    evaluations: int
    first: StandingOut | None
    paper: PaperRow | None


@router.get(f"{EVALUATION}/compare/{{int:twin}}", response=EvaluationsCompared)
@in_project(Action.VIEW)
def compare_evaluations(request: Any, evaluation: Number, twin: Number) -> Any:
    """Compare an evaluation with another, which counts as before: paired by task, with regressions and fixes."""
    second, first = evaluation_of(request.project, evaluation), evaluation_of(request.project, twin)
    try:
        found = comparison_of(first, second)
    except NotComparable as why:
        raise ApiError(409, str(why), "twin", "Choose one with the same benchmark, version and settings.") from None
    fields = {name: getattr(found, name) for name in ("overall", "categories", "gained", "lost")}
    return fields | {"before": first.number, "after": second.number}


@router.get(BOARDS, response=list[LeaderboardSummary])
@in_project(Action.VIEW)
def list_leaderboards(request: Any) -> Any:
    """List every benchmark with the best results of the project and of the paper."""
    found = load_finished_evaluations(request.project)
    entries = [entry(name, [one for one in found if one.benchmark == name]) for name in names_of(found)]
    return [
        {
            "benchmark": one.name,
            "first": serialize_leaderboard_row(one.first) if one.first else None,
            **{name: getattr(one, name) for name in ("title", "about", "evaluations", "paper")},
        }
        for one in entries
    ]


@router.get(f"{BOARDS}/{{slug:benchmark}}", response=Leaderboard)
@in_project(Action.VIEW)
def read_leaderboard(
    request: Any,
    benchmark: str,
    sort: Annotated[str, Query(max_length=80, description="Column, such as -overall.")] = "",
) -> Any:
    """Return one benchmark's leaderboards by version and settings, and the paper's rows."""
    found = load_finished_evaluations(request.project, benchmark)
    if not found and benchmark not in (*KNOWN, *published_scores.BENCHMARKS):
        raise Http404(f"Unknown benchmark {benchmark[:60]!r}, with no evaluations in this project.")
    rows = [
        {
            "version": one.version,
            "settings": one.settings,
            "columns": one.columns,
            "standings": [serialize_leaderboard_row(each) for each in one.standings],
        }
        for one in boards(found, sort)
    ]
    return {
        "benchmark": benchmark,
        "title": title_of(benchmark),
        "boards": rows,
        "paper": sorted_rows(published_scores.list_published_rows(benchmark), sort),
    }


def serialize_leaderboard_row(one: LeaderboardRow) -> dict[str, Any]:
    made = one.evaluation
    return {
        **{name: getattr(one, name) for name in ("rank", "asked", "of", "baseline")},
        "ran": one.run,
        "evaluation": made.number,
        "model": made.model,
        "run": made.run.number if made.run else None,
        "checkpoint": made.checkpoint,
        "base": one.base.number if one.base else None,
        "scores": one.cells,
    }
