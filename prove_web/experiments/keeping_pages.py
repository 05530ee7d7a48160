"""Edits on the run page: tags, pin and notes; with the launch permission also name, archive and baseline."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits

from . import run_metadata
from .models import Run
from .run_metadata import InvalidMetadata, NotesDiffer


def one_in_sight(request: ProjectRequest, number: int) -> Run:
    """Return a run that is not deleted. Raises Http404."""
    rows = run_metadata.in_sight(request.project).select_related("job__project", "base")
    found: Run = get_object_or_404(rows, number=number)
    found.project = request.project
    return found


@in_project(Action.ANNOTATE)
@require_POST
def run_mark(request: ProjectRequest, run: int) -> HttpResponse:
    """Change tags and pin: `tags=a,b` replaces all tags, `add=` and `remove=` change some; `pin=` is `yes` or `no`."""
    found, data = one_in_sight(request, run), request.POST
    try:
        if "tags" in data:
            run_metadata.set_tags(found, run_metadata.read_tags(data["tags"]))
        if "add" in data or "remove" in data:
            add, remove = (run_metadata.read_tags(data.get(name, "")) for name in ("add", "remove"))
            run_metadata.change_tags(found, add, remove)
        if data.get("pin") in ("yes", "no"):
            run_metadata.pin(found, data["pin"] == "yes")
    except InvalidMetadata as why:
        return marks(request, found, str(why))
    return marks(request, found)


@in_project(Action.LAUNCH)
@require_POST
def run_keep(request: ProjectRequest, run: int) -> HttpResponse:
    """Change `name=`, `archived=` (`yes` or `no`) and `base=` (a run number, or empty for none)."""
    found, data = one_in_sight(request, run), request.POST
    try:
        if "name" in data:
            run_metadata.rename(found, data["name"])
        if data.get("archived") in ("yes", "no"):
            run_metadata.archive(found, data["archived"] == "yes")
        if "base" in data:
            run_metadata.set_base(found, base_of(request, data["base"]))
    except InvalidMetadata as why:
        return marks(request, found, str(why))
    return marks(request, found)


def base_of(request: ProjectRequest, number: str) -> Run | None:
    """Return the run chosen as baseline. Raises InvalidMetadata."""
    if not number:
        return None
    found = run_metadata.in_sight(request.project).filter(number=parse_digits(number)).first()
    if found is None:
        raise InvalidMetadata(f"Baseline run {number[:20]} does not exist in this project. Choose another run.")
    return found


def marks(request: ProjectRequest, run: Run, fault: str = "") -> HttpResponse:
    """Render the changed part for htmx; otherwise redirect to the run's page."""
    if request.htmx:
        return render(request, "experiments/keeping_marks.html", {"run": run, "fault": fault})
    if fault:
        messages.error(request, fault)
    return redirect(run)


@in_project(Action.ANNOTATE)
@require_POST
def run_notes(request: ProjectRequest, run: int) -> HttpResponse:
    """Save the notes; a conflict with a newer revision returns both versions to merge, with status 422."""
    found = one_in_sight(request, run)
    text, revision = request.POST.get("notes"), request.POST.get("revision", "")
    if text is None:
        return redirect(found)
    context: dict[str, Any] = {"run": found}
    try:
        run_metadata.write_notes(found, text, revision)
    except NotesDiffer as differ:
        found.notes = differ.theirs
        context |= {"fault": str(differ), "typed": text, "theirs": differ.theirs}
    except InvalidMetadata as why:
        context |= {"fault": str(why), "typed": text, "revision": revision}
    else:
        if not request.htmx:
            return redirect(found)
    page = "experiments/run_notes.html" if request.htmx else "experiments/run_notes_page.html"
    return render(request, page, context, status=422 if "fault" in context and not request.htmx else 200)
