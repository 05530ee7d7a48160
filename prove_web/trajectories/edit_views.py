"""Page that edits a trajectory's texts, arguments and order; a preview replays it, and only a valid edit is saved."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_http_methods

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.core.trajectory import Example
from training_worker.datasets.edits import EditedConversation, apply_edits
from training_worker.synthesis.validate import Rejected

from .edit_form import Draft, apply_button, draft_of, read, validate_draft, wanted_of, with_rows
from .edit_services import NotMendable, build_initial_edit, explain_rejection, mendable, run
from .manual_dataset import add_manual_example
from .models import Trajectory
from .replay_score import rollout_of
from .views.lookup import one_trajectory

DAY = re.compile(r"\d{4}-\d\d-\d\d")
ITEM = re.compile(r"(\d{1,9})/(\d{1,9})")
UNPROCESSABLE = 422


@in_project(Action.ANNOTATE)
@require_http_methods(["GET", "POST"])
def fix(request: ProjectRequest, dataset: int, example: str) -> HttpResponse:
    """Show the edit form, and rearrange, run or save what it submits as a new trajectory; the old one is unchanged."""
    found = one_trajectory(request.project, dataset, example)
    try:
        made = mendable(found)
    except NotMendable as why:
        messages.error(request, str(why))
        return redirect(found)
    if request.method == "GET":
        return page(request, found, made, draft_of(build_initial_edit(made, rollout_of(found))))
    draft, do = read(request.POST, len(made.turns)), request.POST.get("do", "preview")
    if {"add", "remove"} & {*request.POST}:
        return page(request, found, made, with_rows(draft, request.POST.dict()))
    if do not in ("preview", "save"):
        return page(request, found, made, apply_button(draft, do))
    draft = validate_draft(draft)
    if draft.fault:
        return page(request, found, made, draft, {"fault": draft.fault})
    wanted = wanted_of(draft, len(made.steps))
    return save(request, found, made, draft, wanted) if do == "save" else preview(request, found, made, draft, wanted)


def preview(
    request: ProjectRequest, found: Trajectory, example: Example, draft: Draft, wanted: EditedConversation
) -> HttpResponse:
    try:
        tried = run(found, example, wanted, request.user)
    except Rejected as reason:
        return page(request, found, example, draft, {"fault": explain_rejection(reason, found)})
    results = dict(zip((row.key for row in draft.rows), tried.texts, strict=False))
    context = {"held": tried.held, "before": tried.before, "results": results, "same": tried.same}
    return page(request, found, example, draft, context)


def save(
    request: ProjectRequest, found: Trajectory, example: Example, draft: Draft, wanted: EditedConversation
) -> HttpResponse:
    try:
        saved = add_manual_example(request.project, request.user, lambda id: apply_edits(id, example, wanted), found)
    except Rejected as reason:
        return page(request, found, example, draft, {"fault": explain_rejection(reason, found)})
    except OSError as error:
        fault = f"The data folder cannot be written to: {error.strerror or error}. Nothing was saved."
        return page(request, found, example, draft, {"fault": fault})
    messages.success(request, f"Saved as {saved.example} in “{saved.dataset}”. {found.example} is unchanged.")
    there = back_to(request) or saved.get_absolute_url()
    return HttpResponse(headers={"HX-Redirect": there}) if request.htmx else redirect(there)


def back_to(request: ProjectRequest) -> str:
    """Return the URL of the review that the user came from, if any."""
    place = ITEM.fullmatch(request.GET.get("item", ""))
    if place is None:
        return ""
    try:
        return reverse("review", args=[*request.project.path, int(place[1]), int(place[2])])
    except NoReverseMatch:
        return ""


def page(
    request: ProjectRequest, found: Trajectory, example: Example, draft: Draft, more: dict[str, Any] | None = None
) -> HttpResponse:
    more = more or {}
    results = more.pop("results", {})
    blocks = draft.blocks
    for block in blocks:
        for each in block["rows"]:
            each["result"] = results.get(each["row"].key, "")
    context = {"trajectory": found, "dataset": found.dataset, "example": example, "blocks": blocks, **more}
    context["back"] = back_to(request) or found.get_absolute_url()
    context["now"] = date.fromisoformat(example.today) if DAY.fullmatch(example.today) else None
    context["parallel"] = any(len(step.calls) > 1 for step in example.steps)
    status = UNPROCESSABLE if "fault" in more and not request.htmx else 200
    return render(request, "trajectories/fix.html", context, status=status)
