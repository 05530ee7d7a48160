"""The runs of a project as a table: searched, filtered, sorted; the address is the state."""

from __future__ import annotations

from typing import Any

import django_filters
from django.core.paginator import Paginator
from django.db.models import (
    Avg,
    ExpressionWrapper,
    F,
    FloatField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.fields import DurationField
from django.db.models.fields.json import KT, KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce, Greatest, Least, Now
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.models import State

from .figures import WINDOW
from .models import Point, Run, RunKind
from .scored import said
from .sparkline import Sparkline

ROWS = 25
BUCKETS = 30  # means that a sparkline is drawn from
REWARD = Cast(KT("metrics__reward"), FloatField())
COLUMNS = (
    ("number", "Run"),
    ("state", "State"),
    ("dataset", "Data set"),
    ("steps", "Steps"),
    ("reward", "Reward"),
    ("gain", "Held-out gain"),
    ("by", "Started by"),
    ("when", "When"),
    ("took", "Took"),
)
SORTS = {
    "number": "number",
    "job__state": "state",
    "dataset__name": "dataset",
    "steps": "steps",
    "reward_now": "reward",
    "gain": "gain",
    "job__created_by__username": "by",
    "created_at": "when",
    "took": "took",
}


class Sorting(django_filters.OrderingFilter):
    """Rows without a value come last either way, and equal ones by number."""

    def filter(self, rows: QuerySet, value: list[str] | None) -> QuerySet:
        if not value:
            return rows
        orders = [self.get_ordering_value(each) for each in value]
        return rows.order_by(
            *(
                F(order[1:]).desc(nulls_last=True) if order.startswith("-") else F(order).asc(nulls_last=True)
                for order in orders
            ),
            "-number",
        )


class RunFilter(django_filters.FilterSet):
    q = django_filters.CharFilter(method="search", label="Search")
    state = django_filters.ChoiceFilter(
        field_name="job__state", choices=State.choices, label="State", empty_label="Any state"
    )
    kind = django_filters.ChoiceFilter(choices=RunKind.choices, label="Kind", empty_label="Any kind")
    sort = Sorting(fields=SORTS)

    def search(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        words = Q(name__icontains=value) | Q(dataset__name__icontains=value) | Q(notes__icontains=value)
        number = value.removeprefix("#")
        if number.isdecimal() and len(number) < 10:
            words |= Q(number=int(number))
        return rows.filter(words | Q(job__created_by__username__icontains=value))


@in_project(Action.VIEW)
@require_safe
def runs(request: ProjectRequest) -> HttpResponse:
    found = RunFilter(request.GET, measured(Run.objects.filter(project=request.project)))
    page = Paginator(found.qs, ROWS).get_page(request.GET.get("page"))
    lines = sparklines([run.pk for run in page])
    context = {
        "filter": found,
        "page": page,
        "rows": [(run, lines.get(run.pk), said(run.scored_by)) for run in page],
        "columns": [column(key, title, request.GET.get("sort", "-number")) for key, title in COLUMNS],
        "narrowed": bool(any(request.GET.get(name) for name in ("q", "state", "kind"))),
    }
    part = request.GET.get("part") == "table"
    return render(request, "experiments/runs_table.html" if part else "experiments/runs.html", context)


def measured(rows: QuerySet[Run]) -> QuerySet[Run]:
    """Runs with steps, mean reward over the first and the newest of them, held-out gain, duration, and how they ended.

    `scored_by` is their reward as far as it is not the paper's. The job's result is large and is not read.
    """
    points = Point.objects.filter(run=OuterRef("pk")).order_by()
    last = points.values("run").annotate(value=Max("step")).values("value")
    mean = points.values("run").annotate(value=Avg(REWARD)).values("value")
    window = Least(Value(WINDOW), Greatest(Value(1), F("steps") / 2))
    ended = Coalesce(F("job__ended_at"), Now())
    return (
        rows.select_related("job__created_by", "dataset", "sweep", "project__organisation")
        .defer("job__spec", "job__result", "config", "notes", "dataset__job")
        .annotate(
            steps=Subquery(last),
            window=window,
            scored_by=KeyTransform("reward", "config"),
            ended=KeyTextTransform("ended", "job__result"),
            gain=sampled("difference"),
            gain_low=sampled("low"),
            gain_high=sampled("high"),
            took=ExpressionWrapper(ended - F("job__started_at"), DurationField()),
        )
        .annotate(
            reward_start=Subquery(mean.filter(step__lte=OuterRef("window"))),
            reward_now=Subquery(mean.filter(step__gt=OuterRef("steps") - OuterRef("window"))),
        )
    )


def sampled(name: str) -> Cast:
    """A number of the final evaluation's sampled comparison; null before there is one."""
    return Cast(KeyTextTransform(name, KeyTransform("sampled", "job__result")), FloatField())


def sparklines(runs: list[int]) -> dict[int, Sparkline]:
    """The reward of each run, drawn from at most a few dozen means, all in one query."""
    last = Point.objects.filter(run=OuterRef("run")).order_by().values("run").annotate(m=Max("step")).values("m")
    means = (
        Point.objects.filter(run__in=runs, metrics__has_key="reward")
        .order_by()
        .annotate(bucket=(F("step") - 1) * BUCKETS / Greatest(Subquery(last), BUCKETS))
        .values("run", "bucket")
        .annotate(mean=Avg(REWARD))
        .order_by("run", "bucket")
        .values_list("run", "mean")
    )
    found: dict[int, list[float]] = {}
    for run, mean in means:
        found.setdefault(run, []).append(mean)
    return {run: Sparkline.of(values) for run, values in found.items()}


def column(key: str, title: str, sort: str) -> dict[str, Any]:
    """A column's heading: how it is sorted now, and what a click sorts by (the newest or largest first)."""
    now = {key: "ascending", f"-{key}": "descending"}.get(sort, "")
    return {"title": title, "now": now, "next": key if now == "descending" else f"-{key}"}
