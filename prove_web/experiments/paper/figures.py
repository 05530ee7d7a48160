"""The paper's Figures 3 and 4 of the team's runs: reward over steps, and the components at some of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from training_worker.prove.benchmarks import published_scores

from ..compare.aggregate import Curve
from ..compare.curves import read
from ..evaluation import PARTS
from ..models import Run
from .ours import PROVE, Ours

COMPONENTS = PARTS[1:]
MOST = 6  # runs in a figure
NEAR = 5  # steps on either side that a value is the mean over


@dataclass(frozen=True)
class Bars:
    """A run's components: by name the values at paper.STEPS, None where no step is near; `last` is its last step."""

    run: Run
    colour: int
    last: int
    rows: tuple[tuple[str, tuple[tuple[int, float | None], ...]], ...]


def choose(found: Ours, numbers: Iterable[int]) -> list[Run]:
    """The runs of these numbers by the paper's reward; else the newest of each model that has trained so."""
    runs = [run for slot, mine in found.runs.items() if slot.stage == PROVE for run in mine]
    wanted = set(numbers)
    if chosen := [run for run in runs if run.number in wanted]:
        return sorted(chosen, key=lambda run: run.number)[:MOST]
    newest: dict[str, Run] = {}
    for slot, mine in found.runs.items():
        if slot.stage == PROVE and (slot.model not in newest or mine[0].number > newest[slot.model].number):
            newest[slot.model] = mine[0]
    return sorted(newest.values(), key=lambda run: run.number)[:MOST]


def offered(found: Ours) -> list[Run]:
    runs = [run for slot, mine in found.runs.items() if slot.stage == PROVE for run in mine]
    return sorted(runs, key=lambda run: -run.number)[:30]


def figures(runs: Sequence[Run]) -> tuple[dict[str, Any], list[Bars]]:
    """Figure 3 as a chart's specification, and Figure 4 as bars; two queries."""
    told = read(runs, ("reward", *COMPONENTS))
    chart = {
        "title": "Mean reward by training step",
        "series": [
            {"name": f"Run {run.number}, {run.name}", "points": list(zip(curve.steps, curve.values, strict=True))}
            for run in runs
            if (curve := told.curves[run.pk, "reward"]).steps
        ],
    }
    bars = [
        Bars(
            run,
            at,
            max(told.places[run.pk].steps, default=0),
            tuple(
                (name, tuple((step, near(told.curves[run.pk, name], step)) for step in published_scores.STEPS))
                for name in COMPONENTS
            ),
        )
        for at, run in enumerate(runs)
    ]
    return chart, bars


def near(curve: Curve, step: int) -> float | None:
    """The mean over the steps near one; None where there is none, as of a run that ended before."""
    values = [value for at, value in zip(curve.steps, curve.values, strict=True) if abs(at - step) <= NEAR]
    return fmean(values) if values else None
