"""Leaderboard pages of a project: all benchmarks with their best models, and one benchmark next to the paper's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.experiments.chance import Difference, of_scores
from prove_web.experiments.querysets import column
from training_worker.evaluation import published_scores
from training_worker.evaluation.intervals import Score
from training_worker.evaluation.registry import KNOWN

from .models import Evaluation
from .ranking import Board, Cell, LeaderboardRow, boards, cell, load_finished_evaluations
from .reports import title_of


@dataclass(frozen=True)
class Slope:
    """Overall scores of a model before and after training, in percent, as a line on a 0 to 100 axis."""

    name: str
    before: float
    after: float
    url: str = ""
    difference: Difference | None = None

    @property
    def change(self) -> float:
        return round(self.after - self.before, 1)

    @property
    def tone(self) -> str:
        """Return good or bad where the change is significant, else even."""
        return self.difference.tone() if self.difference else "even"

    @property
    def low(self) -> float:
        return min(self.before, self.after)

    @property
    def width(self) -> float:
        return round(abs(self.after - self.before), 2)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A benchmark in the overview: the first entry of its newest board, and the paper's best."""

    name: str
    title: str
    about: str
    evaluations: int
    first: LeaderboardRow | None
    paper: published_scores.Row | None


def names_of(found: Sequence[Evaluation]) -> list[str]:
    """Return the known benchmarks, then the paper's, then any other that was evaluated."""
    return list(dict.fromkeys((*KNOWN, *published_scores.BENCHMARKS, *(one.benchmark for one in found))))


@in_project(Action.VIEW)
@require_safe
def leaderboards(request: ProjectRequest) -> HttpResponse:
    found = load_finished_evaluations(request.project)
    entries = [entry(name, [one for one in found if one.benchmark == name]) for name in names_of(found)]
    return render(request, "evaluations/leaderboards.html", {"entries": entries, "any": bool(found)})


def entry(name: str, found: list[Evaluation]) -> Entry:
    newest = boards(found)[:1]
    rows = [one for one in published_scores.list_published_rows(name) if one.stage == "PROVE"]
    return Entry(
        name=name,
        title=title_of(name),
        about=KNOWN[name].about if name in KNOWN else "",
        evaluations=len(found),
        first=next((one for board in newest for one in board.standings if one.overall and not one.baseline), None),
        paper=max(rows, key=lambda one: one.overall, default=None),
    )


@in_project(Action.VIEW)
@require_safe
def leaderboard(request: ProjectRequest, benchmark: str) -> HttpResponse:
    """Show a leaderboard; `?sort=` is a column, descending with a leading minus."""
    found = load_finished_evaluations(request.project, benchmark)
    if not found and benchmark not in (*KNOWN, *published_scores.BENCHMARKS):
        raise Http404(f"Unknown benchmark {benchmark!r}.")
    sort = request.GET.get("sort", "")
    ranked = boards(found, sort)
    columns = ranked[0].columns if ranked else (*published_scores.COLUMNS.get(benchmark, ()), published_scores.OVERALL)
    context: dict[str, Any] = {
        "benchmark": benchmark,
        "title": title_of(benchmark),
        "about": KNOWN[benchmark].about if benchmark in KNOWN else "",
        "names": [(name, title_of(name)) for name in names_of(found)],
        "boards": [(board, headings(board.columns, sort)) for board in ranked],
        "rows": [row_cells(row, columns) for row in sorted_rows(published_scores.list_published_rows(benchmark), sort)],
        "paper_headings": headings(columns, sort),
        "aligned": bool(ranked) and set(published_scores.COLUMNS.get(benchmark, ())) <= set(columns),
        "variants": variants(benchmark),
        "slopes": list_trained_model_slopes(request.project.path, ranked),
        "papers": papers(benchmark),
        "source": published_scores.SOURCE,
    }
    return render(request, "evaluations/leaderboard.html", context)


def headings(columns: Sequence[str], sort: str) -> list[dict[str, Any]]:
    return [
        column(name, name.replace("_", " "), sort or f"-{published_scores.OVERALL}") | {"key": name} for name in columns
    ]


def sorted_rows(rows: Sequence[published_scores.Row], sort: str) -> list[published_scores.Row]:
    """Sort the paper's rows by the same column, by default the overall score; rows without it come last."""
    sort = sort or f"-{published_scores.OVERALL}"
    name = sort.removeprefix("-")
    there = [one for one in rows if name in one.scores]
    there.sort(key=lambda one: one.scores[name], reverse=sort.startswith("-"))
    return [*there, *(one for one in rows if name not in one.scores)]


def row_cells(row: published_scores.Row, columns: Sequence[str]) -> dict[str, Any]:
    return {"row": row, "cells": [(name, row.scores.get(name)) for name in columns]}


def variants(benchmark: str) -> list[tuple[str, str, float, float]]:
    """Return the paper's other training variants as (model, variant, score, change)."""
    published = published_scores.variants() if benchmark in published_scores.BENCHMARKS else ()
    return [(one.model, one.what, one.scores[benchmark], one.change[benchmark]) for one in published]


def list_trained_model_slopes(path: Any, leaderboards: Sequence[Board]) -> list[Slope]:
    """Return each trained model's change from its initial model, where both were evaluated."""
    slopes = []
    for one in (one for board in leaderboards for one in board.standings):
        if one.overall and one.base and one.base.scored:
            url = reverse("evaluation-compare", args=[*path, one.evaluation.number])
            name = f"{one.evaluation.run}, {one.evaluation.checkpoint}"
            before = cell(one.base.scored)
            difference = of_scores(score_of(before), score_of(one.overall), one.run)
            url = f"{url}?with={one.base.number}"
            slopes.append(Slope(name, before.accuracy, one.overall.accuracy, url, difference))
    return slopes


def score_of(one: Cell) -> Score:
    low, high = (one.accuracy if end is None else end for end in (one.low, one.high))
    return Score(one.accuracy, low, high)


def papers(benchmark: str) -> list[Slope]:
    scores = {(one.model, one.stage): one.overall for one in published_scores.list_published_rows(benchmark)}
    return [Slope(model, scores[model, "base"], scores[model, "PROVE"]) for model in published_scores.MODELS if scores]
