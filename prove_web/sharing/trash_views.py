"""Pages of deletion: the delete buttons, the trash, and restoring."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_organisation, in_project
from prove_web.experiments.models import Run
from prove_web.trajectories.models import Dataset

from .models import Deletion
from .soft_delete import InUse, Thing, TooLate, delete, has_unpurged_runs, needed_by, restore

ROWS = 25
UNPROCESSABLE = 422


@in_project(Action.LAUNCH)
@require_POST
def run_delete(request: ProjectRequest, run: int) -> HttpResponse:
    found = get_object_or_404(Run.everything.select_related("job"), project=request.project, number=run)
    return delete_and_redirect(request, found, "runs")


@in_project(Action.LAUNCH)
@require_POST
def dataset_delete(request: ProjectRequest, dataset: int) -> HttpResponse:
    found = get_object_or_404(Dataset.everything.select_related("job"), project=request.project, number=dataset)
    return delete_and_redirect(request, found, "datasets")


def delete_and_redirect(request: ProjectRequest, thing: Thing, back: str) -> HttpResponse:
    """Delete and redirect to the list, with an undo button; or back to the page, with what still needs it."""
    path = request.project.path
    thing.project = request.project
    try:
        made = delete(thing, request.user)
    except InUse as error:
        messages.error(request, str(error))
        return redirect(thing)
    undo = reverse("bin-restore", args=[*path, made.pk])
    until = f"{made.due_at:%-d %B}"
    messages.success(request, f"“{thing}” is in the trash and can be restored until {until}.", extra_tags=undo)
    return redirect(back, *path)


@in_project(Action.VIEW)
@require_GET
def bin_page(request: ProjectRequest) -> HttpResponse:
    """List what was deleted in the project, newest first, and until when it can be restored."""
    rows = request.project.deletions.filter_in_trash().exclude(kind=Deletion.Kind.PROJECT).select_related("by")
    return render(request, "sharing/bin.html", build_trash_context(request, rows))


def build_trash_context(request: Any, rows: Any) -> dict[str, Any]:
    page = Paginator(rows, ROWS).get_page(request.GET.get("page"))
    return {"page": page, "rows": [(one, has_unpurged_runs(one)) for one in page]}


@in_project(Action.LAUNCH)
@require_POST
def bin_restore(request: ProjectRequest, deletion: int) -> HttpResponse:
    rows = request.project.deletions.exclude(kind=Deletion.Kind.PROJECT)
    return restore_and_redirect(request, get_object_or_404(rows, pk=deletion), "bin", request.project.path)


def restore_and_redirect(request: Any, deletion: Deletion, back: str, path: tuple[str, ...]) -> HttpResponse:
    try:
        thing = restore(deletion)
    except TooLate as error:
        messages.error(request, str(error))
        return redirect(back, *path)
    messages.success(request, f"“{thing}” is restored.")
    return redirect(thing)


@in_project(Action.MANAGE)
@require_http_methods(["GET", "POST"])
def project_delete(request: ProjectRequest) -> HttpResponse:
    """Ask for the project's name, since everything in it is deleted too."""
    project, typed = request.project, request.POST.get("name", "")
    fault = ""
    if request.method == "POST":
        fault = "" if typed.strip() == project.name else f"To delete the project, type its exact name: {project.name}"
        try:
            made = None if fault else delete(project, request.user)
        except InUse as error:
            fault, made = str(error), None
        if made:
            organisation = project.organisation.slug
            undo = reverse("deleted-project-restore", args=[organisation, made.pk])
            text = f"“{project}” is in the trash and can be restored until {made.due_at:%-d %B}."
            messages.success(request, text, extra_tags=undo)
            return redirect("members", organisation)
    context = {"typed": typed, "fault": fault, "needed": list(needed_by(project)), "counts": counts(project)}
    return render(request, "sharing/project_delete.html", context, status=UNPROCESSABLE if fault else 200)


def counts(project: Any) -> list[tuple[int, str]]:
    """Return the counts of what is deleted with a project."""
    return [
        (project.runs.count(), "run"),
        (project.datasets.count(), "dataset"),
        (project.evaluations.count(), "evaluation"),
        (project.sessions.count(), "session"),
        (project.queues.count(), "review queue"),
    ]


@in_organisation(Action.MANAGE)
@require_GET
def deleted_projects(request: Any) -> HttpResponse:
    return render(
        request,
        "sharing/deleted_projects.html",
        build_trash_context(request, of_projects(request.organisation).filter_in_trash()),
    )


@in_organisation(Action.MANAGE)
@require_POST
def deleted_project_restore(request: Any, gone: int) -> HttpResponse:
    found = get_object_or_404(of_projects(request.organisation), pk=gone)
    return restore_and_redirect(request, found, "deleted-projects", (request.organisation.slug,))


def of_projects(organisation: Any) -> Any:
    rows = Deletion.objects.filter(project__organisation=organisation, kind=Deletion.Kind.PROJECT)
    return rows.select_related("by", "project__organisation")
