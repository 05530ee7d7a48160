"""Panel beside a trajectory that verifies and accepts it, and shows earlier acceptances."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, in_project
from prove_web.trajectories.models import Trajectory

from .acceptance import NotChecked, ReplayDriftError, accept
from .acceptance_status import standings, today
from .blinding import blind_since


@in_project(Action.VIEW)
@require_GET
def acceptance(request: Any, dataset: int, example: str) -> HttpResponse:
    return panel(request, one_of(request.project, dataset, example))


@in_project(Action.ANNOTATE)
@require_POST
def trajectory_accept(request: Any, dataset: int, example: str) -> HttpResponse:
    """Replay and accept; the response shows what drifted, or why nothing was replayed."""
    found = one_of(request.project, dataset, example)
    if blind_since(found, request.user):
        return panel(request, found)
    try:
        accepted = accept(found, request.user, reason=request.POST.get("reason", "").replace("\0", ""))
    except ReplayDriftError as drifted:
        given = "reason" in request.POST
        return panel(request, found, checked=drifted.checked, reason_missing=given)
    except NotChecked as why:
        return panel(request, found, problem=str(why))
    if not request.htmx:
        messages.success(request, f"{found.example} is accepted.")
        return redirect(f"{found.get_absolute_url()}#acceptance")
    return panel(request, found, accepted=accepted)


def panel(request: Any, trajectory: Trajectory, **now: Any) -> HttpResponse:
    """Return the panel for htmx, else a page with it; blind reviewers see only that it waits for their review."""
    blind = blind_since(trajectory, request.user) is not None
    context: dict[str, Any] = {"trajectory": trajectory, "blind": blind, **now}
    if not blind:
        history = trajectory.acceptances.select_related("accepted_by", "item__queue__project__organisation")
        code = today(trajectory.servers)
        context["history"] = [{"acceptance": one, "same": one.fingerprint == code} for one in history]
        context["standing"] = standings([trajectory]).get(trajectory.pk)
    return render(request, "review/acceptance_now.html" if request.htmx else "review/acceptance_page.html", context)


def one_of(project: Project, dataset: int, example: str) -> Trajectory:
    rows = Trajectory.objects.filter_by_project(project).select_related("dataset__project__organisation")
    return get_object_or_404(rows, dataset__number=dataset, example=example)
