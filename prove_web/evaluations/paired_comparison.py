"""Paired comparison of two evaluations for pages: by category, with the flipped tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from prove_web.experiments.chance import tone, verdict
from prove_web.experiments.evaluation import Scale
from training_worker.core.trajectory import Rollout
from training_worker.evaluation.compare import PairedComparison, compare_shared_tasks, mean
from training_worker.evaluation.protocol import Result, task_of
from training_worker.evaluation.report import by_task

from .models import Evaluation, EvaluationItem

UNREAD = Rollout(example="", transcript=(), calls=(), end="answered", reward=None)
CLEAR = 0.05  # significance level

Rows = Mapping[str, EvaluationItem]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A category, or all common tasks, in percent; `same_passed` and `same_failed` did not flip.

    `goals` is the goal success of both, None where it was not measured. The x values are positions of the difference
    and its interval on a scale of 0 to 100.
    """

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
    zero_x: float
    low_x: float
    high_x: float
    x: float
    goals: tuple[float | None, float | None] = (None, None)

    @property
    def verdict(self) -> str:
        return verdict(self.low, self.high) if self.p < CLEAR else "no clear difference"

    @property
    def tone(self) -> str:
        return tone(self.low, self.high) if self.p < CLEAR else "even"

    @property
    def parts(self) -> list[tuple[str, str, int, float]]:
        """Return (key, title, count, percent of all) by outcome of the tasks."""
        counts = (
            ("passed", "passed by both", self.same_passed),
            ("gained", "improved", self.gained),
            ("lost", "regressed", self.lost),
            ("failed", "passed by neither", self.same_failed),
        )
        return [(key, title, count, round(100 * count / self.items, 2)) for key, title, count in counts]


@dataclass(frozen=True)
class Flip:
    """A task with a changed score: both values, 0 to 1, and a trial in which the two differ."""

    task: str
    category: str
    before: float
    after: float
    first: EvaluationItem
    second: EvaluationItem

    @property
    def graded(self) -> bool:
        """Return whether a score is other than 0 or 1."""
        return not {self.before, self.after} <= {0.0, 1.0}


@dataclass(frozen=True)
class Comparison:
    """All tasks, each category, and the flips: gained and lost, in the order of the categories."""

    overall: Pair
    categories: tuple[Pair, ...]
    gained: tuple[Flip, ...]
    lost: tuple[Flip, ...]

    @property
    def has_goals(self) -> bool:
        """Return whether goal success was measured on either side."""
        return any(share is not None for share in self.overall.goals)


def rows_of(evaluation: Evaluation) -> dict[str, EvaluationItem]:
    return {row.item: row for row in evaluation.items.all()}


def as_result(row: EvaluationItem) -> Result:
    """Return the fields of a result needed for comparison, without loading its conversation."""
    rollout = replace(UNREAD, goal_success=row.goal_success)
    return Result(
        item=row.item, category=row.category, passed=row.passed, score=row.value, rollout=rollout, steps=row.steps
    )


def build_paired_comparison(first: Rows, second: Rows, order: Sequence[str] = ()) -> Comparison:
    """Compare two evaluations, categories in this order and others after them.

    Raises NotComparable when no task was run by both.
    """
    sides = [{id: as_result(row) for id, row in rows.items()} for rows in (first, second)]
    overall = compare_shared_tasks(*sides)
    found = {}
    for name in dict.fromkeys((*order, *(row.category for row in second.values()))):
        parts = [{id: one for id, one in side.items() if one.category == name} for side in sides]
        if {task_of(id) for id in parts[0]} & {task_of(id) for id in parts[1]}:
            found[name] = (compare_shared_tasks(*parts), parts)
    pairs = [overall, *(one for one, _ in found.values())]
    scale = Scale.from_values(100 * end for one in pairs for end in (one.low, one.high, one.difference))
    return Comparison(
        pair("all", overall, sides, scale),
        tuple(pair(name, one, parts, scale) for name, (one, parts) in found.items()),
        flips(overall.gained, first, second),
        flips(overall.lost, first, second),
    )


def pair(name: str, result: PairedComparison, sides: list[dict[str, Result]], scale: Scale) -> Pair:
    values = [by_task(list(side.values())) for side in sides]
    before, after = (None if share is None else 100 * share for share in result.goals)
    flipped = {*result.gained, *result.lost}
    same = [values[0][task] for task in values[0].keys() & values[1].keys() - flipped]
    passed = sum(min(one) >= 1 for one in same)
    return Pair(
        name=name,
        items=result.items,
        first=100 * result.first,
        second=100 * result.second,
        difference=100 * result.difference,
        low=100 * result.low,
        high=100 * result.high,
        p=result.p,
        gained=len(result.gained),
        lost=len(result.lost),
        same_passed=passed,
        same_failed=len(same) - passed,
        zero_x=scale.x(0.0),
        low_x=scale.x(100 * result.low),
        high_x=scale.x(100 * result.high),
        x=scale.x(100 * result.difference),
        goals=(before, after),
    )


def flips(tasks: tuple[str, ...], first: Rows, second: Rows) -> tuple[Flip, ...]:
    """Return the flips ordered by category, then by id in natural order."""
    before, after = (trials_of(rows) for rows in (first, second))
    made = []
    for task in tasks:
        one, other = find_differing_trials(before[task], after[task])
        worth = [mean([row.value for row in rows]) for rows in (before[task], after[task])]
        made.append(Flip(task, other.category, worth[0], worth[1], one, other))
    return tuple(sorted(made, key=lambda one: (one.category, len(one.task), one.task)))


def trials_of(rows: Rows) -> dict[str, list[EvaluationItem]]:
    """Return the trials of each task in order."""
    found: dict[str, list[EvaluationItem]] = {}
    for id in sorted(rows, key=lambda id: (len(id), id)):
        found.setdefault(task_of(id), []).append(rows[id])
    return found


def find_differing_trials(
    first: list[EvaluationItem], second: list[EvaluationItem]
) -> tuple[EvaluationItem, EvaluationItem]:
    """Return the first pair of trials with different values, or the first trial of each."""
    by_id = {row.item: row for row in second}
    pairs = [(row, by_id[row.item]) for row in first if row.item in by_id]
    return next((pair for pair in pairs if pair[0].value != pair[1].value), (first[0], second[0]))
