"""Leaderboards: the evaluations of a benchmark ranked among those that ran the same version with the same settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models.fields.json import KeyTransform

from prove_web.accounts.models import Project
from prove_web.live.models import State
from training_worker.prove.benchmarks import published_scores

from .models import Evaluation
from .querysets import BASELINES, base_among, light
from .reports import categories_of

GOAL_SUCCESS = "goal_success"  # the column of the share of rollouts that reached the goal, where that was measured
MOST = 500  # the newest evaluations of a benchmark that are looked at


@dataclass(frozen=True)
class Cell:
    """A score in percent with its interval, where that is known; `best` is the highest of its column."""

    accuracy: float
    low: float | None = None
    high: float | None = None
    best: bool = False

    @property
    def width(self) -> float:
        return round((self.high or 0) - (self.low or 0), 2)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The best evaluation of a model or checkpoint; `of` is how many there are of it.

    `asked` tasks were to be run, `run` of them were. Only models that ran all of the most tasks of their board have a
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
        """Whether it is of no model: what the ground truth gets, or silence."""
        return self.evaluation.source in BASELINES

    @property
    def overall(self) -> Cell | None:
        return self.cells.get(published_scores.OVERALL)


@dataclass(frozen=True)
class Board:
    """Standings of one version and setting of a benchmark, in order."""

    version: str
    settings: Mapping[str, Any]
    columns: tuple[str, ...]
    standings: tuple[Standing, ...]

    @property
    def tasks(self) -> int:
        """How many items the whole of it has, as far as anybody ran it."""
        return max((one.asked for one in self.standings), default=0)


def ended(project: Project, benchmark: str = "") -> list[Evaluation]:
    """Those with a report, the newest first, with its scores (`categories`, `groups`, `scored`); one query."""
    report = KeyTransform("report", "job__result")
    found = Evaluation.objects.filter(project=project, job__state=State.DONE, job__result__has_key="report")
    if benchmark:
        found = found.filter(benchmark=benchmark)
    told = light(found).annotate(
        categories=KeyTransform("categories", report),
        scored=KeyTransform("overall", report),
        groups=KeyTransform("groups", report),
        trials=KeyTransform("trials", "job__spec"),
    )
    return list(told[:MOST])


def boards(found: Sequence[Evaluation], sort: str = "") -> list[Board]:
    """One for each version and settings: that with most models first, of equal ones that with the newest."""
    grouped: dict[tuple[str, str], list[Evaluation]] = {}
    for one in found:
        grouped.setdefault((one.version, json.dumps(one.settings, sort_keys=True)), []).append(one)
    made = [board(each, sort) for each in grouped.values()]
    return sorted(made, key=lambda one: -len(one.standings))


def board(found: Sequence[Evaluation], sort: str) -> Board:
    rows = [best([standing(one) for one in each]) for each in by_model(found).values()]
    rows = [replace(one, base=base_among(one.evaluation, found)) for one in ranked(rows)]
    columns = columns_of(found[0].benchmark, rows)
    return Board(found[0].version, found[0].settings, columns, tuple(ordered(marked(rows, columns), sort)))


def by_model(found: Sequence[Evaluation]) -> dict[Any, list[Evaluation]]:
    grouped: dict[Any, list[Evaluation]] = {}
    for one in found:
        grouped.setdefault((one.run_id, one.checkpoint, one.model if not one.run_id else ""), []).append(one)
    return grouped


def standing(one: Evaluation) -> Standing:
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
    return Standing(evaluation=one, cells=cells, asked=counts[0] // trials, run=counts[1] // trials)


def cell(score: Mapping[str, float]) -> Cell:
    return Cell(*(round(100 * score[name], 2) for name in ("accuracy", "low", "high")))


def best(rows: list[Standing]) -> Standing:
    """Of those with most items the one with the highest overall score; the newest of equal ones."""
    first = max(rows, key=lambda one: (one.run, one.overall.accuracy if one.overall else -1.0, one.evaluation.number))
    return replace(first, of=len(rows))


def ranked(rows: list[Standing]) -> list[Standing]:
    """Order standings by overall score, those with a rank first.

    A baseline has no rank, and neither has one that ran fewer items, since it is on others.
    """
    most = max(one.asked for one in rows)
    fit = [one for one in rows if one.overall and one.run == one.asked == most and not one.baseline]
    fit.sort(key=lambda one: -one.overall.accuracy)
    ranks = {one.evaluation.pk: 1 + sum(other.overall.accuracy > one.overall.accuracy for other in fit) for one in fit}
    rest = [one for one in rows if one.evaluation.pk not in ranks]
    rest.sort(key=lambda one: (-(one.overall.accuracy if one.overall else -1.0), one.baseline))
    return [replace(one, rank=ranks.get(one.evaluation.pk)) for one in (*fit, *rest)]


def columns_of(benchmark: str, rows: Sequence[Standing]) -> tuple[str, ...]:
    """The groups of its categories, or these in the benchmark's own order, what else was told, and all together."""
    told = dict.fromkeys(name for one in rows for name in one.cells if name != published_scores.OVERALL)
    grouped = dict.fromkeys(each["name"] for one in rows for each in one.evaluation.groups or [])
    known = tuple(grouped) or categories_of(benchmark)
    return (*known, *(name for name in told if name not in known), published_scores.OVERALL)


def marked(rows: Sequence[Standing], columns: Sequence[str]) -> list[Standing]:
    """With the best of each column marked among those that have a rank, where there are two to choose from."""
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


def ordered(rows: Sequence[Standing], sort: str) -> list[Standing]:
    """As ranked, or by a column, with a minus before it the highest first; what has no score comes last."""
    name = sort.removeprefix("-")
    if name == "model":
        return sorted(rows, key=lambda one: one.evaluation.model.lower(), reverse=sort.startswith("-"))
    there = [one for one in rows if name in one.cells]
    there.sort(key=lambda one: one.cells[name].accuracy, reverse=sort.startswith("-"))
    return [*there, *(one for one in rows if name not in one.cells)] if there else list(rows)
