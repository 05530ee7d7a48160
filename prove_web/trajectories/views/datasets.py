"""The page that lists the data sets of a project."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from prove_web.accounts.permissions import Action, in_project

from ..models import Dataset
from ..stats import Mix, mix

DATASETS_PER_PAGE = 25


MOST_VERSIONS = 1_000


@dataclass(frozen=True)
class Listed:
    """A data set in the list; `depth` counts the versions above it."""

    dataset: Dataset
    mix: Mix | None
    depth: int = 0

    @property
    def indent(self) -> int:
        return min(self.depth, 4)


@in_project(Action.VIEW)
@require_GET
def datasets(request: Any) -> HttpResponse:
    every = Dataset.objects.filter(project=request.project).select_related("job__created_by")
    roots = Q(parent=None) | Q(parent__deleted_at__isnull=False)
    page = Paginator(every.filter(roots), DATASETS_PER_PAGE).get_page(request.GET.get("page"))
    versions: dict[int, list[Dataset]] = defaultdict(list)
    for one in every.exclude(roots)[:MOST_VERSIONS]:
        versions[one.parent_id].append(one)
    found = [each for root in page for each in family(root, versions)]
    return render(request, "trajectories/datasets.html", {"page": page, "datasets": found})


def family(dataset: Dataset, versions: Mapping[int, list[Dataset]], depth: int = 0) -> Iterator[Listed]:
    """A data set, and beneath it its versions, newest first, each with its own."""
    yield Listed(dataset, mix(dataset.job.result), depth)
    for one in versions.get(dataset.pk, ()):
        yield from family(one, versions, depth + 1)
