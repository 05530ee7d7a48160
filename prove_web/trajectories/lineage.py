"""Lineage of a dataset as links: its graph, job, parents, queue and runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils.http import urlencode

from prove_web.accounts.models import Project
from prove_web.live.models import Kind
from prove_web.review.models import Queue

from .models import Dataset

MOST = 8  # links of a kind
OLDEST = 10  # previous versions


@dataclass(frozen=True)
class Link:
    """A link in a lineage; without `url` its target was deleted, or has no page."""

    kind: str
    label: str
    url: str = ""
    icon: str = "link"


@dataclass(frozen=True)
class Lineage:
    """Sources of a dataset, oldest first, and what was created from it."""

    sources: tuple[Link, ...]
    uses: tuple[Link, ...]


def lineage(dataset: Dataset) -> Lineage:
    return Lineage(tuple(sources(dataset)), tuple(uses(dataset)))


def sources(dataset: Dataset) -> Iterator[Link]:
    job, path = dataset.job, dataset.project.path
    if job.after and job.after.kind == Kind.GRAPH:
        yield Link("Graph", str(job.after.title), reverse("graph", args=path), "share")
    if not dataset.origin:
        yield Link("Created by", job.title, reverse("job", args=[*path, job.pk]), "sparkles")
    yield from reversed(list(parents(dataset)))
    yield from origins(dataset.project, dataset.origin if isinstance(dataset.origin, dict) else {})


def parents(dataset: Dataset) -> Iterator[Link]:
    """Yield the previous versions, newest first."""
    before = dataset.parent
    for _ in range(OLDEST):
        if before is None:
            return
        yield set_link("Previous version", before, dataset.project)
        before = before.parent


def origins(project: Project, origin: dict[str, Any]) -> Iterator[Link]:
    numbers = {"dataset": [origin.get("dataset")], "mix": [part[0] for part in origin.get("mix") or () if part]}
    for key, found in numbers.items():
        for one in project.datasets.filter(number__in=[n for n in found if isinstance(n, int)]):
            yield set_link("Mixed from" if key == "mix" else "Selected from", one, project)
    if query := origin.get("query"):
        yield Link(
            "Search", str(query), f"{reverse('trajectories', args=project.path)}?{urlencode({'q': query})}", "search"
        )
    if isinstance(number := origin.get("queue"), int):
        yield from map(queue_link, Queue.objects.filter(project=project, number=number))
    if isinstance(number := origin.get("run"), int):
        for run in project.runs.filter(number=number):
            yield Link("Rollouts of", run.name, reverse("run", args=[*project.path, run.number]), "rocket")


def uses(dataset: Dataset) -> Iterator[Link]:
    project = dataset.project
    for one in dataset.versions.order_by("number")[:MOST]:
        yield set_link("Next version", one, project)
    for queue in Queue.objects.filter(project=project, source__dataset=dataset.number)[:MOST]:
        yield queue_link(queue)
    for run in dataset.runs.order_by("-number")[:MOST]:
        yield Link("Run", run.name, reverse("run", args=[*project.path, run.number]), "rocket")


def set_link(kind: str, dataset: Dataset, project: Project) -> Link:
    name = f"{dataset.name} #{dataset.number}"
    if dataset.deleted_at:
        return Link(kind, f"{name}, deleted", icon="trash")
    return Link(kind, name, reverse("dataset", args=[*project.path, dataset.number]), "database")


def queue_link(queue: Queue) -> Link:
    try:
        url = reverse("queue", args=[*queue.project.path, queue.number])
    except NoReverseMatch:
        url = ""
    return Link("Review queue", queue.name, url, "list")
