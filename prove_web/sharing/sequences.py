"""The next number of a run or data set of a project. None is ever given twice, also not after its thing is gone."""

from __future__ import annotations

from django.db.models import Max, Model

from prove_web.accounts.models import Project

from .models import Deletion


def next_number(project: Project, table: type[Model], kind: str) -> int:
    """One more than any that was given. Call it in a transaction that holds the project."""
    there = table.everything.filter(project=project).aggregate(last=Max("number"))["last"] or 0
    gone = Deletion.objects.filter(project=project, kind=kind).aggregate(last=Max("number"))["last"] or 0
    return max(there, gone) + 1
