"""Reward components and tools of runs with their differences from the baseline, largest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Avg, Max, Q

from prove_web.experiments.chance import Difference, Tone
from prove_web.experiments.evaluation import PARTS
from prove_web.experiments.models import Point, Run
from prove_web.experiments.reward_scale import SCORED, same_reward
from prove_web.experiments.tools import Count as Calls
from prove_web.experiments.tools import count, server_of
from training_worker.monitoring.event_data import readable
from training_worker.monitoring.metrics import TOOLS

from .curves import number

TENTH = 10
MOST_STEPS = 50  # upper limit on the newest tenth of a run's steps
MAX_TOOLS = 25  # tools shown until the user asks for all


@dataclass(frozen=True)
class Cell:
    """A value and its difference from the baseline's, None where either is unknown. `heat` is 0 to 1.

    `tone` is even unless the 95 % interval of the difference excludes 0.
    """

    value: float | None
    delta: float | None
    heat: float = 0.0
    count: int = 0
    tone: Tone = "even"


@dataclass(frozen=True)
class Row:
    """One component or tool with a cell per run; `size` is its largest difference."""

    name: str
    server: str
    cells: tuple[Cell, ...]

    @property
    def size(self) -> float:
        return max((abs(cell.delta) for cell in self.cells if cell.delta is not None), default=0.0)


@dataclass(frozen=True)
class Parts:
    """Reward components, largest difference first; `held_out` says whether they come from the final evaluation."""

    rows: list[Row]
    held_out: bool


def components(runs: Sequence[Run], base: Run | None) -> Parts:
    """Return the components of the final evaluations, or, unless all runs have one, of their newest tenth of steps."""
    by_run: dict[int, Mapping[str, Any]] = {run.pk: final_means(run) for run in runs}
    held_out = bool(runs) and all(by_run.values())
    if not held_out:
        averages = {name: Avg(number(name)) for name in PARTS}
        means = newest(runs).values("run").annotate(**averages)
        by_run = {run.pk: {} for run in runs} | {row["run"]: row for row in means}
    rows = [row(name, "", [by_run[run.pk].get(name) for run in runs], runs, base) for name in PARTS]
    if not held_out:
        rows = [drop_incomparable_deltas(one, runs, base) if one.name in SCORED else one for one in rows]
    return Parts(sort_by_difference(rows), held_out)


def drop_incomparable_deltas(row: Row, runs: Sequence[Run], base: Run | None) -> Row:
    """Return the row without differences of runs whose reward definition is not the baseline's."""
    pairs = zip(row.cells, runs, strict=True)
    return replace(row, cells=tuple(one if same_reward(run, base) else replace(one, delta=None) for one, run in pairs))


def final_means(run: Run) -> Mapping[str, Any]:
    lines = readable({"after": getattr(run, "lines_after", None)}).get("after", [])
    return next((line["means"] for line in lines if line["steps"] == "all"), {})


def newest(runs: Sequence[Run]) -> Any:
    """Return the points of the newest tenth of each run's steps, at most MOST_STEPS.

    Two queries with the caller's own.
    """
    keys = [run.pk for run in runs]
    ends = Point.objects.filter(run__in=keys).order_by().values("run").annotate(m=Max("step"))
    wanted = Q(pk__in=[])
    for run, last in ends.values_list("run", "m"):
        wanted |= Q(run=run, step__gt=last - min(MOST_STEPS, max(1, last // TENTH)))
    return Point.objects.filter(wanted).order_by()


@dataclass(frozen=True)
class Tools:
    """Failure rates per call, calls per step, and the number of steps counted by run number."""

    rates: list[Row]
    calls: list[Row]
    steps: dict[int, int]

    @property
    def has_data(self) -> bool:
        return bool(self.rates)


def tools(runs: Sequence[Run], base: Run | None) -> Tools:
    """Return the tool statistics of the newest tenth of each run's steps."""
    by_run: dict[int, list[Any]] = {run.pk: [] for run in runs}
    for run, made in newest(runs).filter(metrics__has_key=TOOLS).values_list("run", f"metrics__{TOOLS}"):
        by_run[run].append(made)
    counts = {key: count(made) for key, made in by_run.items()}
    names = sorted({name for one in counts.values() for name in one.calls})
    rates = [
        colour_differences(
            row(
                name,
                server_of(name),
                [counts[run.pk].rate(name) for run in runs],
                runs,
                base,
                list_call_counts(counts, name, runs),
            ),
            [counts[run.pk].compute_rate_difference(counts[base.pk], name) if base in runs else None for run in runs],
        )
        for name in names
    ]
    calls = [
        row(name, server_of(name), [a_step(counts[run.pk], name, len(by_run[run.pk])) for run in runs], runs, base)
        for name in names
    ]
    return Tools(
        sort_by_difference(rates), sort_by_difference(calls), {run.number: len(by_run[run.pk]) for run in runs}
    )


def colour_differences(row: Row, differences: Sequence[Difference | None]) -> Row:
    """Return a failure-rate row, each difference coloured where its interval excludes 0."""
    pairs = zip(row.cells, differences, strict=True)
    return replace(row, cells=tuple(replace(cell, tone=one.tone("less")) if one else cell for cell, one in pairs))


def list_call_counts(counts: Mapping[int, Calls], name: str, runs: Sequence[Run]) -> list[int]:
    return [counts[run.pk].calls.get(name, 0) for run in runs]


def a_step(counts: Calls, name: str, steps: int) -> float | None:
    return counts.calls.get(name, 0) / steps if steps else None


def row(
    name: str,
    server: str,
    values: Sequence[float | None],
    runs: Sequence[Run],
    base: Run | None,
    numbers: Sequence[int] = (),
) -> Row:
    own = values[list(runs).index(base)] if base in runs else None
    deltas = [
        None if value is None or own is None or run == base else value - own
        for run, value in zip(runs, values, strict=True)
    ]
    counted = numbers or [0] * len(values)
    return Row(name, server, tuple(Cell(v, d, 0.0, n) for v, d, n in zip(values, deltas, counted, strict=True)))


def sort_by_difference(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, largest difference first, with each cell's heat relative to the largest difference."""
    most = max((one.size for one in rows), default=0.0) or 1.0
    heated = [
        Row(
            one.name,
            one.server,
            tuple(replace(cell, heat=abs(cell.delta or 0.0) / most) for cell in one.cells),
        )
        for one in rows
    ]
    return sorted(heated, key=lambda one: (-one.size, one.name))
