"""Annotated run querysets for tables: steps, reward, held-out gain and duration, without large fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import django_filters
from django.db.models import Case, ExpressionWrapper, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.fields import DurationField
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce, Concat, Now

from prove_web.core.json_number import json_number

from .metric_stats import compute_bucket_means
from .models import POINTS, MetricSummary, Point, Run
from .sparkline import Sparkline

REWARD = "reward"


class NullsLastOrderingFilter(django_filters.OrderingFilter):
    """Ordering that puts rows without a value last in both directions, and orders equal rows by number."""

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


def annotate_runs(rows: QuerySet[Run]) -> QuerySet[Run]:
    """Annotate runs with steps, first and newest mean reward, held-out gain, duration, and how they ended.

    `scored_by` is the reward configuration where it differs from the paper's. The job's large result is not read.
    """
    return (
        rows.select_related("job__created_by", "dataset", "sweep", "project__organisation", "base")
        .defer("job__spec", "job__result", "config", "notes", "dataset__job", "base__config", "base__notes")
        .annotate(
            steps=steps(),
            scored_by=KeyTransform("reward", "config"),
            ended=KeyTextTransform("ended", "job__result"),
            gain=select_sampled_value("difference"),
            gain_low=select_sampled_value("low"),
            gain_high=select_sampled_value("high"),
            took=select_run_duration(),
            reward_start=select_metric_summary(REWARD, "start"),
            reward_now=select_metric_summary(REWARD, "now"),
        )
    )


def steps() -> Subquery:
    """Return the last step of a run."""
    return Subquery(Point.objects.filter(run=OuterRef("pk")).order_by("-step").values("step")[:1])


def dataset_called() -> Case:
    """Return the name of the run's dataset, marked if it is deleted."""
    deleted = Concat(F("dataset__name"), Value(" (deleted)"))
    return Case(When(dataset__deleted_at=None, then=F("dataset__name")), default=deleted)


def baseline() -> Case:
    """Return the number of the baseline, unless it is deleted."""
    return Case(When(base__deleted_at=None, then=F("base__number")))


def select_run_duration() -> ExpressionWrapper:
    return ExpressionWrapper(Coalesce(F("job__ended_at"), Now()) - F("job__started_at"), DurationField())


def select_metric_summary(name: str, what: str, source: str = POINTS) -> Subquery:
    """Return one summary field of a run's metric, such as its newest value; null for a run without the metric."""
    found = MetricSummary.objects.filter(run=OuterRef("pk"), source=source, name=name)
    return Subquery(found.values(what)[:1])


def select_sampled_value(name: str) -> Case:
    """Return a number of the final evaluation's sampled comparison; null before there is one."""
    return json_number(name, KeyTransform("sampled", "job__result"))


def sparklines(runs: Iterable[int]) -> dict[int, Sparkline]:
    """Return a reward sparkline for each run in one query."""
    summaries = MetricSummary.objects.filter(run__in=runs, source=POINTS, name=REWARD)
    return {
        run: Sparkline.from_values(compute_bucket_means(small)) for run, small in summaries.values_list("run", "small")
    }


def column(key: str, title: str, sort: str) -> dict[str, Any]:
    """Return a column heading: current sort direction, and the sort key of a click (newest or largest first)."""
    now = {key: "ascending", f"-{key}": "descending"}.get(sort, "")
    return {"title": title, "now": now, "next": key if now == "descending" else f"-{key}"}
