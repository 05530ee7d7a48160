"""Usage of each tool: in the ground truth of datasets, and its success rate in runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import Count, OuterRef, Subquery

from prove_web.accounts.models import Project
from prove_web.experiments.models import Point, Run
from prove_web.experiments.tools import count
from prove_web.trajectories.models import Dataset, Trajectory
from training_worker.monitoring.metrics import TOOLS

MOST = 20  # newest datasets and runs that are read

Tally = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class ToolUsage:
    """A dataset or run that uses a tool: `count` conversations, or calls of which `failures` failed."""

    thing: Dataset | Run
    count: int
    failures: int = 0

    @property
    def success(self) -> float:
        return 1 - self.failures / self.count


def datasets(project: Project) -> list[Dataset]:
    """Return the newest datasets with trajectories, each with the id of its newest one (`held`)."""
    rows = Dataset.objects.filter(project=project).select_related("project__organisation").defer("job__result")
    newest = Trajectory.objects.filter(dataset=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    return list(rows.annotate(held=Subquery(newest)).filter(held__isnull=False).order_by("-number")[:MOST])


def in_dataset(dataset: Dataset) -> Counter[str]:
    """Count the conversations of a dataset from `datasets` whose ground truth calls each tool."""
    return _in_dataset(dataset.pk, dataset.created_at, dataset.held)


@lru_cache(maxsize=64)
def _in_dataset(dataset: int, made: datetime, held: int) -> Counter[str]:
    """Count with a cache, which a new `held` invalidates when the dataset has grown."""
    found = Counter[str]()
    rows = Dataset.objects.get(pk=dataset).trajectories.order_by().values_list("tools").annotate(n=Count("id"))
    for listed, n in rows:
        for name in set(filter(None, listed.split(","))):
            found[name] += n
    return found


def runs(project: Project) -> list[Run]:
    """Return the newest runs with a step, each with the id of its newest point (`newest`), which changes with it."""
    rows = Run.objects.filter(project=project).select_related("project__organisation").defer("config", "notes")
    newest = Point.objects.filter(run=OuterRef("pk")).order_by("-step").values("pk")[:1]
    return list(rows.annotate(newest=Subquery(newest)).filter(newest__isnull=False).order_by("-number")[:MOST])


def in_run(run: Run) -> Tally:
    """Return calls and failures of each tool in a run from `runs`."""
    return _in_run(run.pk, run.created_at, run.newest)


@lru_cache(maxsize=64)
def _in_run(run: int, made: datetime, newest: int) -> Tally:
    """Count with a cache, which a new `newest` invalidates when the run has continued."""
    points = Run.objects.get(pk=run).points.filter(metrics__has_key=TOOLS)
    found = count(points.values_list(f"metrics__{TOOLS}", flat=True))
    return {name: (calls, found.failures[name]) for name, calls in found.calls.items()}


def of_tool(project: Project, tool: str) -> tuple[list[ToolUsage], list[ToolUsage]]:
    """Return the datasets and the runs that use a tool, newest first."""
    held = [ToolUsage(each, in_dataset(each)[tool]) for each in datasets(project)]
    called = [ToolUsage(each, *in_run(each).get(tool, (0, 0))) for each in runs(project)]
    return [each for each in held if each.count], [each for each in called if each.count]
