"""Live view of one rollout in the current step, read-only, updated after each turn."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.models import State
from prove_web.trajectories.conversation import of_rollout
from training_worker.environment.live_rollout import LiveRollout, read

from .detail import run_of
from .models import Run
from .rollouts import examples_of

UNCHANGED = 204


@in_project(Action.VIEW)
@require_safe
def watch(request: ProjectRequest, run: int) -> HttpResponse:
    """Show the page; for htmx only the conversation, or status 204 if it has not changed."""
    found = run_of(request.project, run)
    if not request.htmx:
        return render(request, "experiments/watch.html", build_context(found))
    context = build_context(found)
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=UNCHANGED)
    return render(request, "experiments/watched.html", context)


def build_context(run: Run) -> dict[str, Any]:
    """Return the page context with `seen`, a fingerprint of the shown state."""
    job, trains = run.job, run.kind != "sft"
    watched = read(job.out) if trains else None
    context = {
        "run": run,
        "job": job,
        "trains": trains,
        "running": job.state in (State.RUNNING, State.STOPPING),
        "waits": job.state in (State.QUEUED, State.STARTING),
        "watched": watched,
        "seen": f"{job.state}.{job.attempt}." + (fingerprint_rollout(watched) if watched else ""),
        "newest": run.points.order_by("-step").values_list("step", flat=True).first(),
    }
    if watched is None:
        return context
    example = examples_of(run, [watched.rollout.example]).get(watched.rollout.example)
    turns = of_rollout(watched.rollout, example) if example else []
    return {**context, "example": example, "turns": turns, "stored": find_rollout_url(run, watched)}


def fingerprint_rollout(watched: LiveRollout) -> str:
    return f"{watched.step}.{len(watched.rollout.transcript)}.{watched.over:d}.{watched.index or 0}"


def find_rollout_url(run: Run, watched: LiveRollout) -> str:
    """Return the URL of the rollout's page once its step is stored."""
    if watched.index is None or not run.stored_steps.filter(step=watched.step).exists():
        return ""
    return reverse("rollout", args=[*run.project.path, run.number, watched.step, watched.index])
