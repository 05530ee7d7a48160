"""One run: its state and figures, live curves, evaluation, checkpoints and configuration."""

from __future__ import annotations

from typing import Any

from django.db.models import Max
from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.evaluations.rows import listed
from prove_web.live.advice import advice

from . import evaluation
from .charts import CHARTS, grouped
from .checkpoints import checkpoints, streamed, zipped
from .figures import WINDOW, tiles
from .forms import settings_of
from .models import Run
from .points import snapshot
from .rollouts import notable
from .saved_rewards import called
from .slices import cuts
from .starting import title_of


def run_of(project: Project, number: int) -> Run:
    found: Run = get_object_or_404(
        Run.objects.select_related("job__project__organisation", "job__created_by", "job__after", "dataset", "sweep"),
        project=project,
        number=number,
    )
    found.project = project
    return found


@in_project(Action.VIEW)
@require_safe
def run_page(request: ProjectRequest, run: int) -> HttpResponse:
    """The page; to htmx only what changes of it. `?step=` leads to the rollouts of that step."""
    found = run_of(request.project, run)
    step = request.GET.get("step", "")
    if step.isdecimal() and 0 < int(step) < 10**9:
        return redirect("rollouts", *request.project.path, run, int(step))
    context = moving(found)
    if request.htmx:
        return render(request, "experiments/run_moving.html", context)
    context |= {
        "settings": settings_of(found.config, found.kind, called(request.project, found.config.get("reward"))),
        "charts": [chart.spec for chart in CHARTS],
        "groups": grouped(found),
        "start": title_of(found.config.get("policy", "warm"), request.project),
        "points_url": reverse("run-points", args=[*request.project.path, run]),
        "metric_url": reverse("run-metric", args=[*request.project.path, run]),
        "cursor": found.job.events.aggregate(last=Max("id"))["last"] or 0,
    }
    return render(request, "experiments/run.html", context)


def moving(run: Run) -> dict[str, Any]:
    result = run.job.result
    return {
        "run": run,
        "job": run.job,
        "tiles": tiles(run),
        "window": WINDOW,
        "advice": advice(run.job),
        "gains": evaluation.gains(result),
        "evaluated": evaluation.rows(result),
        "parts": evaluation.PARTS,
        "outcomes": evaluation.outcomes(result),
        "cuts": cuts(run),
        "checkpoints": checkpoints(run.job),
        "evaluations": listed(run.evaluations.all()).order_by("number"),
        "notable": notable(run),
        "scored_by": called(run.project, run.config.get("reward")),
        "storage": run.job.events.filter(kind="storage").values_list("data", flat=True).last() or {},
        "last_step": run.points.order_by("-step").values_list("step", flat=True).first(),
    }


@in_project(Action.VIEW)
@require_safe
def run_points(request: ProjectRequest, run: int) -> HttpResponse:
    return JsonResponse(snapshot(run_of(request.project, run)))


@in_project(Action.VIEW)
@require_safe
def checkpoint(request: ProjectRequest, run: int, step: int) -> HttpResponse | StreamingHttpResponse:
    """One checkpoint's files as a zip."""
    return sent_checkpoint(run_of(request.project, run), step)


def sent_checkpoint(run: Run, step: int) -> StreamingHttpResponse:
    """The zip of a run's checkpoint, made while it is sent. Raises Http404."""
    wanted = next((one for one in checkpoints(run.job) if one.step == step), None)
    if wanted is None:
        raise Http404(
            f"Run {run.number} has no checkpoint of step {step} any more; it keeps its last two and its best."
        )
    name = f"run-{run.number}-step-{step}.zip"
    return StreamingHttpResponse(
        streamed(zipped(wanted)),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
