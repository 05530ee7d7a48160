"""The page of the paper's tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.parse_int import parse_digits
from prove_web.trajectories.models import Dataset
from training_worker.prove.benchmarks import published_scores

from ..forms import usable
from .figures import choose, figures, offered
from .ours import ours
from .tables import Tables

KINDS = {"chain": "Multi-turn conversations", "missing_function": "Clarification", "irrelevance": "Abstention"}
OFFERED = 30  # data sets


@dataclass(frozen=True)
class CompositionRow:
    """A kind of conversation: the paper's count and the team's, None without a data set."""

    title: str
    paper: int
    ours: int | None


@in_project(Action.VIEW)
@require_safe
def paper_page(request: ProjectRequest) -> HttpResponse:
    """`?pick=12&pick=15` are evaluations that count before others, `?figure=3` runs of the figures, `?dataset=2` whose
    conversations are counted."""
    picked, figured = (numbers(request.GET.getlist(name)) for name in ("pick", "figure"))
    found = ours(request.project, picked)
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
        "offered": offered(found),
        "chart": chart,
        "bars": bars,
        "picked": picked,
        "asked_figures": figured,
    }
    return render(request, "experiments/paper/page.html", context)


def numbers(texts: list[str]) -> list[int]:
    return list(dict.fromkeys(number for text in texts[:100] if (number := parse_digits(text)) is not None))


def dataset_of(project: Project, number: str) -> Dataset | None:
    """The one that is asked for, else the newest that runs can train on."""
    rows = usable(project).filter(deleted_at=None).only("number", "name", "project_id").order_by("-number")
    wanted = parse_digits(number)
    found: Dataset | None = (rows if wanted is None else rows.filter(number=wanted)).first()
    return found


def composition(dataset: Dataset | None) -> list[CompositionRow]:
    """By kind, the training split; all together last."""
    counts: dict[str, int] = {}
    if dataset is not None:
        rows = dataset.trajectories.filter(split="train").order_by().values("kind").annotate(count=Count("id"))
        counts = dict(rows.values_list("kind", "count"))
    told = [
        CompositionRow(title, published_scores.TRAINING_SET[kind], counts.get(kind, 0) if dataset else None)
        for kind, title in KINDS.items()
    ]
    return [
        *told,
        CompositionRow("All", sum(published_scores.TRAINING_SET.values()), sum(counts.values()) if dataset else None),
    ]
