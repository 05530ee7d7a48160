"""Where a trajectory's page leads to: its world, what if, its fix, what it was edited from and what was made of it."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from prove_web.accounts.permissions import Action, ProjectRequest
from training_worker.prove.trajectory import Example

from .models import Trajectory

MOST_EDITS = 20
WITH_DATASET = "dataset__project__organisation"


def links(
    request: ProjectRequest, trajectory: Trajectory, example: Example | None, *, blind: bool = False
) -> dict[str, Any]:
    """What templates/trajectories/reading.html leads to, as far as this person may go; one query.

    While they are `blind` nothing leads to a score, nor to what others mended.
    """
    found: dict[str, Any] = {"edits": [] if blind else edits_of(trajectory)}
    if example is None or not example.runs_here:
        return found
    where = [*request.project.path, trajectory.dataset.number, trajectory.example]
    found |= {} if blind else {"what_if": reverse("trajectory-what-if", args=where)}
    if not example.source and request.role.covers(Action.ANNOTATE):
        found |= {"opens": reverse("trajectory-session", args=where), "fixes": reverse("trajectory-fix", args=where)}
    return found


def edits_of(trajectory: Trajectory) -> list[Trajectory]:
    """What was made of it by hand; one query."""
    return list(trajectory.edits.filter(dataset__deleted_at=None).select_related(WITH_DATASET)[:MOST_EDITS])
