"""Lookup of runs named on the command line."""

from __future__ import annotations

from django.core.management.base import CommandError

from prove_web.accounts.management.command_arguments import project_named
from prove_web.experiments.models import Run


def run_named(project: str, number: int) -> Run:
    """Return the run by `organisation/project` and number. Raises CommandError."""
    rows = Run.objects.select_related("job", "dataset", "project__organisation").filter(deleted_at=None)
    found: Run | None = rows.filter(project=project_named(project), number=number).first()
    if found is None:
        raise CommandError(f"There is no run {number} in {project}.")
    return found
