"""How often each tool stands in a data set's ground truth, and how often it did what was asked in a run."""

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
from training_worker.prove.metrics import TOOLS

MOST = 20  # data sets, and runs, that are looked at: the newest

Tally = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Used:
    """One data set or run in which a tool occurs: `count` conversations, or calls of which `failures` failed."""

    thing: Dataset | Run
    count: int
    failures: int = 0

    @property
    def success(self) -> float:
        return 1 - self.failures / self.count


def datasets(project: Project) -> list[Dataset]:
    """The newest data sets that hold trajectories, each with its newest one (`held`)."""
    rows = Dataset.objects.filter(project=project).select_related("project__organisation").defer("job__result")
    newest = Trajectory.objects.filter(dataset=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    return list(rows.annotate(held=Subquery(newest)).filter(held__isnull=False).order_by("-number")[:MOST])


def in_dataset(dataset: Dataset) -> Counter[str]:
    """In how many conversations of a data set from `datasets` the right answer calls each tool."""
    return _in_dataset(dataset.pk, dataset.created_at, dataset.held)


@lru_cache(maxsize=64)
def _in_dataset(dataset: int, made: datetime, held: int) -> Counter[str]:
    """`held` makes a data set that has grown a new one."""
    found = Counter[str]()
    rows = Dataset.objects.get(pk=dataset).trajectories.order_by().values_list("tools").annotate(n=Count("id"))
    for listed, n in rows:
        for name in set(filter(None, listed.split(","))):
            found[name] += n
    return found


def runs(project: Project) -> list[Run]:
    """The newest runs with a step, each with its newest point (`newest`): one that goes on, or again, has another."""
    rows = Run.objects.filter(project=project).select_related("project__organisation").defer("config", "notes")
    newest = Point.objects.filter(run=OuterRef("pk")).order_by("-step").values("pk")[:1]
    return list(rows.annotate(newest=Subquery(newest)).filter(newest__isnull=False).order_by("-number")[:MOST])


def in_run(run: Run) -> Tally:
    """Calls and failures of each tool in a run from `runs`."""
    return _in_run(run.pk, run.created_at, run.newest)


@lru_cache(maxsize=64)
def _in_run(run: int, made: datetime, newest: int) -> Tally:
    """`newest` makes a run that has gone on a new one."""
    told = Run.objects.get(pk=run).points.filter(metrics__has_key=TOOLS)
    found = count(told.values_list(f"metrics__{TOOLS}", flat=True))
    return {name: (calls, found.failures[name]) for name, calls in found.calls.items()}


def of_tool(project: Project, tool: str) -> tuple[list[Used], list[Used]]:
    """The data sets and the runs in which a tool occurs, the newest first."""
    held = [Used(each, in_dataset(each)[tool]) for each in datasets(project)]
    called = [Used(each, *in_run(each).get(tool, (0, 0))) for each in runs(project)]
    return [each for each in held if each.count], [each for each in called if each.count]
