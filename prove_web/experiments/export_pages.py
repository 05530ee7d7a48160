"""Checkpoint export from the run page, and its download."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts import audit
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.disk_guard import NoDiskSpace

from .checkpoints import Checkpoint
from .detail import build_zip_response, checkpoint_of, run_of
from .exports import Export, start_export
from .models import Run


@in_project(Action.LAUNCH)
@require_POST
def export_make(request: ProjectRequest, run: int, step: int) -> HttpResponse:
    """Start an export; `merged` merges an adapter into the weights of its base model."""
    found = run_of(request.project, run)
    checkpoint_of(found, step)
    try:
        if not start_export(Export(found.job, step, bool(request.POST.get("merged")))):
            messages.error(request, "Export not started: the message broker does not respond. Try again in a moment.")
    except NoDiskSpace as why:
        messages.error(request, str(why))
    return redirect(f"{reverse('run', args=[*request.project.path, run])}#checkpoints")


@in_project(Action.VIEW)
@require_safe
def export_download(request: ProjectRequest, run: int, step: int) -> HttpResponse | StreamingHttpResponse:
    """Download the exported folder as a zip; `?merged=1` selects the merged model."""
    return stream_export(run_of(request.project, run), step, bool(request.GET.get("merged")))


def stream_export(run: Run, step: int, merged: bool) -> StreamingHttpResponse:
    """Stream an exported folder as a zip. Raises Http404."""
    export = Export(run.job, step, merged)
    if not export.ready:
        raise Http404(f"The checkpoint of step {step} is not exported. Export it on the page of run {run.number}.")
    audit.note(None, "exported", run, run.project.organisation, model=export.name)
    return build_zip_response(Checkpoint(step, export.folder), f"run-{run.number}-{export.name}.zip")
