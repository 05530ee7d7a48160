"""Evaluations table of a project with search, filters and sorting; the state is in the query string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import django_filters
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.experiments.models import Run
from prove_web.experiments.querysets import NullsLastOrderingFilter, column
from prove_web.live.models import State
from training_worker.evaluation.registry import KNOWN

from .annotations import annotate_evaluations
from .models import Evaluation, EvaluationItem

ROWS = 25
FILTERS = ("q", "benchmark", "model", "run", "state")
COLUMNS = (
    ("number", "Evaluation"),
    ("state", "State"),
    ("benchmark", "Benchmark"),
    ("model", "Model"),
    ("overall", "Overall"),
    ("", "Items"),
    ("by", "Created by"),
    ("when", "Created"),
    ("took", "Duration"),
)
SORTS = {
    "number": "number",
    "job__state": "state",
    "benchmark": "benchmark",
    "model": "model",
    "overall": "overall",
    "job__created_by__username": "by",
    "created_at": "when",
    "took": "took",
}


def title_of(benchmark: str) -> str:
    return KNOWN[benchmark].title if benchmark in KNOWN else benchmark


class EvaluationFilter(django_filters.FilterSet):
    q = django_filters.CharFilter(method="search", label="Search")
    benchmark = django_filters.ChoiceFilter(label="Benchmark", empty_label="Any benchmark")
    model = django_filters.ChoiceFilter(label="Model", empty_label="Any model")
    run = django_filters.ChoiceFilter(field_name="run__number", label="Run", empty_label="Any run")
    state = django_filters.ChoiceFilter(
        field_name="job__state", choices=State.choices, label="State", empty_label="Any state"
    )
    sort = NullsLastOrderingFilter(fields=SORTS)

    def __init__(self, data: Any, rows: QuerySet[Evaluation], project: Project):
        super().__init__(data, rows)
        there = Evaluation.objects.filter(project=project).order_by()
        for name in ("benchmark", "model"):
            values = there.exclude(**{name: ""}).values_list(name, flat=True).distinct().order_by(name)
            titled = title_of if name == "benchmark" else str
            self.filters[name].extra["choices"] = [(value, titled(value)) for value in values]
        runs = Run.objects.filter(evaluations__project=project).distinct().order_by("-number")
        self.filters["run"].extra["choices"] = [
            (str(number), f"Run {number}, {name}") for number, name in runs.values_list("number", "name")
        ]

    def search(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        words = Q(name__icontains=value) | Q(model__icontains=value) | Q(benchmark__icontains=value)
        number = value.removeprefix("#")
        if number.isdecimal() and len(number) < 10:
            words |= Q(number=int(number))
        return rows.filter(words | Q(job__created_by__username__icontains=value))


@in_project(Action.VIEW)
@require_safe
def evaluations(request: ProjectRequest) -> HttpResponse:
    found = EvaluationFilter(
        request.GET, annotate_evaluations(Evaluation.objects.filter(project=request.project)), request.project
    )
    page = Paginator(found.qs, ROWS).get_page(request.GET.get("page"))
    counted = counts([one.pk for one in page])
    context = {
        "filter": found,
        "page": page,
        "rows": [(one, title_of(one.benchmark), counted.get(one.pk)) for one in page],
        "columns": [heading(key, title, request.GET.get("sort", "-number")) for key, title in COLUMNS],
        "narrowed": bool(any(request.GET.get(name) for name in FILTERS)),
    }
    part = request.GET.get("part") == "table"
    name = "evaluations/evaluations_table.html" if part else "evaluations/evaluations.html"
    return render(request, name, context)


def heading(key: str, title: str, sort: str) -> dict[str, Any]:
    return column(key, title, sort) if key else {"title": title}


def counts(evaluations: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the numbers of run and passed items by evaluation, in one query."""
    rows = EvaluationItem.objects.filter(evaluation__in=evaluations).order_by().values("evaluation")
    return {row["evaluation"]: row for row in rows.annotate(run=Count("id"), passed=Count("id", filter=Q(passed=True)))}
