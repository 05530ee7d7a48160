"""Sequence of the numbers of a project's runs and datasets. None is ever reused, even after a deletion."""

from __future__ import annotations

from django.db.models import Max, Model

from prove_web.accounts.models import Project

from .models import Deletion


def next_number(project: Project, table: type[Model], kind: str) -> int:
    """Return one more than the last number. Call it in a transaction that holds the lock of the project."""
    there = table.everything.filter(project=project).aggregate(last=Max("number"))["last"] or 0
    gone = Deletion.objects.filter(project=project, kind=kind).aggregate(last=Max("number"))["last"] or 0
    return max(there, gone) + 1
