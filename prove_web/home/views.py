"""Pages of a project's home."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from prove_web.accounts.permissions import Action, in_project
from prove_web.live.models import ENDED, Job

from .overview import counts, first_steps, newest_curve

RECENT = 4  # ended jobs on the home page


@in_project(Action.VIEW)
@require_GET
def home(request: Any) -> HttpResponse:
    context = {
        **cards(request.project),
        "curve": newest_curve(request.project),
        "counts": counts(request.project),
        "steps": first_steps(request.project, request.session.get("seen", ())),
    }
    return render(request, "home/home.html", context)


@in_project(Action.VIEW)
@require_GET
def home_jobs(request: Any) -> HttpResponse:
    return render(request, "home/jobs.html", cards(request.project))


def cards(project: Any) -> dict[str, list[Job]]:
    """Return all active jobs, oldest first, and the most recently ended ones."""
    jobs = (
        Job.objects.not_deleted()
        .filter(project=project)
        .select_related("project__organisation", "after", "dataset", "run")
    )
    return {
        "active": list(jobs.active().order_by("created_at")),
        "recent": list(jobs.filter(state__in=ENDED).order_by("-ended_at", "-created_at")[:RECENT]),
    }
