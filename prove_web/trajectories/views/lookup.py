"""Lookup of the dataset or trajectory in a URL; 404 for one of another project."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404

from ..models import Dataset, Trajectory

RELATED = ("project__organisation", "job__created_by", "job__project__organisation", "job__after", "parent")


def one_of(project: Any, number: int) -> Dataset:
    rows = Dataset.objects.select_related(*RELATED)
    return get_object_or_404(rows, project=project, number=number)


def one_trajectory(project: Any, number: int, example: str) -> Trajectory:
    rows = Trajectory.objects.filter_by_project(project).select_related(
        "dataset__project__organisation", "parent__dataset__project__organisation"
    )
    return get_object_or_404(rows, dataset__number=number, example=example)
