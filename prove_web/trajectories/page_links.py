"""Links of a trajectory's page: its world, the reward replay, the edit form, its parent and its edits."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from prove_web.accounts.permissions import Action, ProjectRequest
from training_worker.core.trajectory import Example

from .models import Trajectory

MOST_EDITS = 20
WITH_DATASET = "dataset__project__organisation"


def links(
    request: ProjectRequest, trajectory: Trajectory, example: Example | None, *, blind: bool = False
) -> dict[str, Any]:
    """Return the links of templates/trajectories/reading.html that this user may follow; one query.

    While the user is `blind`, no link leads to a score or to edits.
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
    """Return the manual edits of a trajectory; one query."""
    return list(trajectory.edits.filter(dataset__deleted_at=None).select_related(WITH_DATASET)[:MOST_EDITS])
