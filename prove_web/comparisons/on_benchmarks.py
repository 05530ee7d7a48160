"""Benchmark results of runs, each paired with the baseline's evaluation task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from prove_web.evaluations.annotations import annotate_evaluations
from prove_web.evaluations.models import Evaluation, EvaluationItem
from prove_web.evaluations.querysets import why_not
from prove_web.evaluations.reports import title_of
from prove_web.experiments.evaluation import Scale
from prove_web.experiments.models import Run
from prove_web.live.models import State
from training_worker.evaluation.intervals import bootstrap_interval
from training_worker.evaluation.protocol import task_of

from .final_eval import Difference, add_coordinates

Values = Mapping[str, float]


@dataclass(frozen=True)
class BenchmarkResult:
    """A run's newest evaluation on a benchmark, or None, and its difference from the baseline's.

    `why` says why there is no difference.
    """

    run: Run
    evaluation: Evaluation | None
    against: Difference | None = None
    why: str = ""


@dataclass(frozen=True)
class Board:
    """All runs on one benchmark; `base` is the baseline's evaluation."""

    benchmark: str
    title: str
    base: Evaluation | None
    rows: list[BenchmarkResult]


def boards(runs: Sequence[Run], base: Run | None) -> list[Board]:
    """Return one board per benchmark that any of the runs was evaluated on, in two queries."""
    found = annotate_evaluations(Evaluation.objects.filter(run__in=[run.pk for run in runs], job__state=State.DONE))
    newest: dict[str, dict[int, Evaluation]] = {}
    for one in found.order_by("number"):
        newest.setdefault(one.benchmark, {})[one.run_id or 0] = one
    values = values_of([one.pk for by_run in newest.values() for one in by_run.values()])
    return [board(name, by_run, runs, base, values) for name, by_run in sorted(newest.items())]


def values_of(keys: Sequence[int]) -> dict[int, dict[str, float]]:
    """Return by evaluation the score of each task, the mean over its trials."""
    trials: dict[int, dict[str, list[float]]] = {key: {} for key in keys}
    rows = EvaluationItem.objects.filter(evaluation__in=keys).order_by()
    for key, item, value in rows.values_list("evaluation", "item", "value"):
        trials[key].setdefault(task_of(item), []).append(value)
    return {key: {task: fmean(each) for task, each in tasks.items()} for key, tasks in trials.items()}


def board(
    name: str, by_run: Mapping[int, Evaluation], runs: Sequence[Run], base: Run | None, values: Mapping[int, Values]
) -> Board:
    first = by_run.get(base.pk) if base else None
    rows = [compare_with_baseline(run, by_run.get(run.pk), first, values) for run in runs]
    scale = Scale.from_values(end for one in rows if one.against for end in (one.against.low, one.against.high))
    placed = [BenchmarkResult(one.run, one.evaluation, add_coordinates(one.against, scale), one.why) for one in rows]
    return Board(name, title_of(name), first, placed)


def compare_with_baseline(
    run: Run, one: Evaluation | None, first: Evaluation | None, values: Mapping[int, Values]
) -> BenchmarkResult:
    if one is None or first is None or one == first:
        why = "Baseline not evaluated." if one and first is None else ""
        return BenchmarkResult(run, one, None, why)
    if reason := why_not(first, one):
        return BenchmarkResult(run, one, None, reason)
    both = sorted(values[first.pk].keys() & values[one.pk].keys())
    if not both:
        return BenchmarkResult(run, one, None, "No common item.")
    gains = [values[one.pk][task] - values[first.pk][task] for task in both]
    low, high = bootstrap_interval(gains) if max(gains) > min(gains) else (gains[0], gains[0])
    return BenchmarkResult(run, one, Difference(fmean(gains), low, high, len(both)))
