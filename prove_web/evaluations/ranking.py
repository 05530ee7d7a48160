"""Leaderboards: evaluations of a benchmark ranked among those with the same version and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models.fields.json import KeyTransform

from prove_web.accounts.models import Project
from prove_web.live.models import State
from training_worker.evaluation import published_scores

from .models import Evaluation
from .querysets import BASELINES, base_among, light
from .reports import categories_of

GOAL_SUCCESS = "goal_success"  # column with the share of rollouts that reached the goal, where measured
MOST = 500  # newest evaluations considered per benchmark


@dataclass(frozen=True)
class Cell:
    """A score in percent with its interval, if known; `best` marks the highest of its column."""

    accuracy: float
    low: float | None = None
    high: float | None = None
    best: bool = False

    @property
    def width(self) -> float:
        return round((self.high or 0) - (self.low or 0), 2)


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow:
    """The best evaluation of a model or checkpoint; `of` is its number of evaluations.

    `asked` tasks were requested, `run` were run. Only models that ran the board's maximum number of tasks have a
    `rank`.
    """

    evaluation: Evaluation
    cells: dict[str, Cell]
    asked: int
    run: int
    of: int = 1
    rank: int | None = None
    base: Evaluation | None = None

    @property
    def baseline(self) -> bool:
        """Return whether it is a baseline without a model: ground truth or silence."""
        return self.evaluation.source in BASELINES

    @property
    def overall(self) -> Cell | None:
        return self.cells.get(published_scores.OVERALL)


@dataclass(frozen=True)
class Board:
    """Ordered standings of one version and setting of a benchmark."""

    version: str
    settings: Mapping[str, Any]
    columns: tuple[str, ...]
    standings: tuple[LeaderboardRow, ...]

    @property
    def tasks(self) -> int:
        """Return the size of the benchmark, as far as it was ever run."""
        return max((one.asked for one in self.standings), default=0)


def load_finished_evaluations(project: Project, benchmark: str = "") -> list[Evaluation]:
    """Return evaluations with a report, newest first, annotated with their scores; one query."""
    report = KeyTransform("report", "job__result")
    found = Evaluation.objects.filter(project=project, job__state=State.DONE, job__result__has_key="report")
    if benchmark:
        found = found.filter(benchmark=benchmark)
    rows = light(found).annotate(
        categories=KeyTransform("categories", report),
        scored=KeyTransform("overall", report),
        groups=KeyTransform("groups", report),
        trials=KeyTransform("trials", "job__spec"),
    )
    return list(rows[:MOST])


def boards(found: Sequence[Evaluation], sort: str = "") -> list[Board]:
    """Return one board per version and settings, most models first, then the newest."""
    grouped: dict[tuple[str, str], list[Evaluation]] = {}
    for one in found:
        grouped.setdefault((one.version, json.dumps(one.settings, sort_keys=True)), []).append(one)
    made = [board(each, sort) for each in grouped.values()]
    return sorted(made, key=lambda one: -len(one.standings))


def board(found: Sequence[Evaluation], sort: str) -> Board:
    rows = [best([build_leaderboard_row(one) for one in each]) for each in by_model(found).values()]
    rows = [replace(one, base=base_among(one.evaluation, found)) for one in rank_rows(rows)]
    columns = columns_of(found[0].benchmark, rows)
    return Board(found[0].version, found[0].settings, columns, tuple(sort_rows(mark_best_cells(rows, columns), sort)))


def by_model(found: Sequence[Evaluation]) -> dict[Any, list[Evaluation]]:
    grouped: dict[Any, list[Evaluation]] = {}
    for one in found:
        grouped.setdefault((one.run_id, one.checkpoint, one.model if not one.run_id else ""), []).append(one)
    return grouped


def build_leaderboard_row(one: Evaluation) -> LeaderboardRow:
    cells = {each["name"]: cell(each["score"]) for each in one.groups or one.categories or [] if each.get("score")}
    goals = [
        (each["goal_success"], each["run"]) for each in one.categories or [] if each.get("goal_success") is not None
    ]
    if run := sum(count for _, count in goals):
        cells[GOAL_SUCCESS] = Cell(round(100 * sum(share * count for share, count in goals) / run, 2))
    if one.scored:
        cells[published_scores.OVERALL] = cell(one.scored)
    counts = [sum(each[name] for each in one.categories or []) for name in ("asked", "run")]
    trials = one.trials if isinstance(one.trials, int) and one.trials > 0 else 1
    return LeaderboardRow(evaluation=one, cells=cells, asked=counts[0] // trials, run=counts[1] // trials)


def cell(score: Mapping[str, float]) -> Cell:
    return Cell(*(round(100 * score[name], 2) for name in ("accuracy", "low", "high")))


def best(rows: list[LeaderboardRow]) -> LeaderboardRow:
    """Return the evaluation with most items, then the highest overall score, then the highest number."""
    first = max(rows, key=lambda one: (one.run, one.overall.accuracy if one.overall else -1.0, one.evaluation.number))
    return replace(first, of=len(rows))


def rank_rows(rows: list[LeaderboardRow]) -> list[LeaderboardRow]:
    """Order standings by overall score, ranked ones first.

    Baselines are not ranked, nor are evaluations of fewer items, because their scores are not comparable.
    """
    most = max(one.asked for one in rows)
    fit = [one for one in rows if one.overall and one.run == one.asked == most and not one.baseline]
    fit.sort(key=lambda one: -one.overall.accuracy)
    ranks = {one.evaluation.pk: 1 + sum(other.overall.accuracy > one.overall.accuracy for other in fit) for one in fit}
    rest = [one for one in rows if one.evaluation.pk not in ranks]
    rest.sort(key=lambda one: (-(one.overall.accuracy if one.overall else -1.0), one.baseline))
    return [replace(one, rank=ranks.get(one.evaluation.pk)) for one in (*fit, *rest)]


def columns_of(benchmark: str, rows: Sequence[LeaderboardRow]) -> tuple[str, ...]:
    """Return the columns: category groups or categories in the benchmark's order, others, then overall."""
    names = dict.fromkeys(name for one in rows for name in one.cells if name != published_scores.OVERALL)
    grouped = dict.fromkeys(each["name"] for one in rows for each in one.evaluation.groups or [])
    known = tuple(grouped) or categories_of(benchmark)
    return (*known, *(name for name in names if name not in known), published_scores.OVERALL)


def mark_best_cells(rows: Sequence[LeaderboardRow], columns: Sequence[str]) -> list[LeaderboardRow]:
    """Mark the best value of each column among ranked standings, if there are at least two."""
    fit = [one for one in rows if one.rank]
    tops = {name: max((one.cells[name].accuracy for one in fit if name in one.cells), default=None) for name in columns}
    if len(fit) < 2:
        return list(rows)
    return [
        replace(one, cells={name: replace(got, best=got.accuracy == tops[name]) for name, got in one.cells.items()})
        if one.rank
        else one
        for one in rows
    ]


def sort_rows(rows: Sequence[LeaderboardRow], sort: str) -> list[LeaderboardRow]:
    """Sort by a column, descending with a leading minus, or keep the ranking; rows without a score come last."""
    name = sort.removeprefix("-")
    if name == "model":
        return sorted(rows, key=lambda one: one.evaluation.model.lower(), reverse=sort.startswith("-"))
    there = [one for one in rows if name in one.cells]
    there.sort(key=lambda one: one.cells[name].accuracy, reverse=sort.startswith("-"))
    return [*there, *(one for one in rows if name not in one.cells)] if there else list(rows)
