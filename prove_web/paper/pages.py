"""The page of the paper's tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.comparisons.aggregate import Curve
from prove_web.comparisons.curves import read
from prove_web.core.parse_int import parse_digits
from prove_web.experiments.evaluation import PARTS
from prove_web.experiments.forms import usable
from prove_web.experiments.models import Run
from prove_web.trajectories.models import Dataset
from training_worker.evaluation import published_scores

from .ours import PROVE, ProjectResults, load_project_results
from .tables import Tables

# The paper's Figures 3 and 4 for the team's runs: reward by step, and the components at selected steps.

COMPONENTS = PARTS[1:]
MOST = 6  # runs per figure
NEAR = 5  # steps on either side over which a value is averaged


@dataclass(frozen=True)
class Bars:
    """A run's components by name at published_scores.STEPS, None where no step is near; `last` is its last step."""

    run: Run
    colour: int
    last: int
    rows: tuple[tuple[str, tuple[tuple[int, float | None], ...]], ...]


def choose(found: ProjectResults, numbers: Iterable[int]) -> list[Run]:
    """Return the runs with these numbers that use the paper's reward; else the newest such run of each model."""
    runs = [run for slot, mine in found.runs.items() if slot.stage == PROVE for run in mine]
    wanted = set(numbers)
    if chosen := [run for run in runs if run.number in wanted]:
        return sorted(chosen, key=lambda run: run.number)[:MOST]
    newest: dict[str, Run] = {}
    for slot, mine in found.runs.items():
        if slot.stage == PROVE and (slot.model not in newest or mine[0].number > newest[slot.model].number):
            newest[slot.model] = mine[0]
    return sorted(newest.values(), key=lambda run: run.number)[:MOST]


def list_prove_runs(found: ProjectResults) -> list[Run]:
    runs = [run for slot, mine in found.runs.items() if slot.stage == PROVE for run in mine]
    return sorted(runs, key=lambda run: -run.number)[:30]


def figures(runs: Sequence[Run]) -> tuple[dict[str, Any], list[Bars]]:
    """Return Figure 3 as a chart specification and Figure 4 as bars, in two queries."""
    data = read(runs, ("reward", *COMPONENTS))
    chart = {
        "title": "Mean reward by training step",
        "series": [
            {"name": f"Run {run.number}, {run.name}", "points": list(zip(curve.steps, curve.values, strict=True))}
            for run in runs
            if (curve := data.curves[run.pk, "reward"]).steps
        ],
    }
    bars = [
        Bars(
            run,
            at,
            max(data.places[run.pk].steps, default=0),
            tuple(
                (
                    name,
                    tuple(
                        (step, average_near_step(data.curves[run.pk, name], step)) for step in published_scores.STEPS
                    ),
                )
                for name in COMPONENTS
            ),
        )
        for at, run in enumerate(runs)
    ]
    return chart, bars


def average_near_step(curve: Curve, step: int) -> float | None:
    """Return the mean over the steps near `step`; None if there are none, as in a shorter run."""
    values = [value for at, value in zip(curve.steps, curve.values, strict=True) if abs(at - step) <= NEAR]
    return fmean(values) if values else None


KINDS = {"chain": "Multi-turn conversations", "missing_function": "Clarification", "irrelevance": "Abstention"}
OFFERED = 30  # datasets


@dataclass(frozen=True)
class CompositionRow:
    """A kind of conversation: the paper's count and the team's, None without a dataset."""

    title: str
    paper: int
    ours: int | None


@in_project(Action.VIEW)
@require_safe
def paper_page(request: ProjectRequest) -> HttpResponse:
    """Show the page.

    `?pick=12&pick=15` are evaluations that take precedence, `?figure=3` runs of the figures, and `?dataset=2` the
    dataset whose conversations are counted.
    """
    picked, figured = (numbers(request.GET.getlist(name)) for name in ("pick", "figure"))
    found = load_project_results(request.project, picked)
    chosen = choose(found, figured)
    chart, bars = figures(chosen) if chosen else (None, [])
    dataset = dataset_of(request.project, request.GET.get("dataset", ""))
    context: dict[str, Any] = {
        "source": published_scores.SOURCE,
        "tables": Tables(request.project, found, request.GET).all,
        "dataset": dataset,
        "datasets": usable(request.project).only("number", "name").order_by("-number")[:OFFERED],
        "made": composition(dataset),
        "figured": chosen,
        "offered": list_prove_runs(found),
        "chart": chart,
        "bars": bars,
        "picked": picked,
        "asked_figures": figured,
    }
    return render(request, "paper/page.html", context)


def numbers(texts: list[str]) -> list[int]:
    return list(dict.fromkeys(number for text in texts[:100] if (number := parse_digits(text)) is not None))


def dataset_of(project: Project, number: str) -> Dataset | None:
    """Return the requested dataset, else the newest that runs can train on."""
    rows = usable(project).filter(deleted_at=None).only("number", "name", "project_id").order_by("-number")
    wanted = parse_digits(number)
    found: Dataset | None = (rows if wanted is None else rows.filter(number=wanted)).first()
    return found


def composition(dataset: Dataset | None) -> list[CompositionRow]:
    """Return the counts of the training split by kind, the total last."""
    counts: dict[str, int] = {}
    if dataset is not None:
        rows = dataset.trajectories.filter(split="train").order_by().values("kind").annotate(count=Count("id"))
        counts = dict(rows.values_list("kind", "count"))
    parts = [
        CompositionRow(title, published_scores.TRAINING_SET[kind], counts.get(kind, 0) if dataset else None)
        for kind, title in KINDS.items()
    ]
    return [
        *parts,
        CompositionRow("All", sum(published_scores.TRAINING_SET.values()), sum(counts.values()) if dataset else None),
    ]
