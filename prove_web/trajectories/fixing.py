"""The page that mends a trajectory: words, arguments, order; run anew on a look, and kept only once it holds."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_http_methods

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.review.blind import blind_since
from training_worker.prove.synthesis.mending import Mended, Wanted, as_it_is, mended
from training_worker.prove.synthesis.validate import Rejected
from training_worker.prove.trajectory import Example, Rollout

from .by_hand import keep
from .draft import Draft, changed, checked, draft_of, read, wanted_of, with_rows
from .models import Trajectory
from .reading import done
from .verdict import example_of, judge, rollout_of

DAY = re.compile(r"\d{4}-\d\d-\d\d")
ITEM = re.compile(r"(\d{1,9})/(\d{1,9})")
UNPROCESSABLE = 422


@in_project(Action.ANNOTATE)
@require_http_methods(["GET", "POST"])
def fix(request: ProjectRequest, dataset: int, example: str) -> HttpResponse:
    """The form; what is sent to it is moved about, run, or kept as a trajectory of its own. The old one stays."""
    rows = Trajectory.objects.of(request.project).select_related("dataset__project__organisation")
    found = get_object_or_404(rows, dataset__number=dataset, example=example)
    made = example_of(found)
    if made is None or made.source:
        why = "was imported, and its tools are not live here" if made else "was recorded by another version"
        messages.error(request, f"{found} cannot be mended: it {why}. Reject it, or label it, instead.")
        return redirect(found)
    if request.method == "GET":
        return page(request, found, made, draft_of(beginning(made, rollout_of(found))))
    draft, do = read(request.POST, len(made.turns)), request.POST.get("do", "preview")
    if {"add", "remove"} & {*request.POST}:
        return page(request, found, made, with_rows(draft, request.POST.dict()))
    if do not in ("preview", "save"):
        return page(request, found, made, changed(draft, do))
    draft = checked(draft)
    if draft.fault:
        return page(request, found, made, draft, {"fault": draft.fault})
    wanted = wanted_of(draft, len(made.steps))
    return save(request, found, made, draft, wanted) if do == "save" else preview(request, found, made, draft, wanted)


def beginning(example: Example, attempt: Rollout | None) -> Mended:
    """What the form begins with: the demonstration, or of an attempt the calls that succeeded."""
    if attempt is None:
        return as_it_is(example)
    turns = user_turns(attempt)
    calls = tuple(
        Wanted(made.call.name, made.call.arguments or {}, min(turns[made.turn], len(example.turns) - 1))
        for made in attempt.calls
        if made.level == 3
    )
    return Mended(example.turns, example.answers, calls)


def user_turns(attempt: Rollout) -> list[int]:
    """For each assistant turn the user turn that it is in, both from 0."""
    found, number = list[int](), -1
    for message in attempt.transcript:
        number += message.role == "user"
        if message.role == "assistant":
            found.append(max(number, 0))
    return found


def preview(request: ProjectRequest, found: Trajectory, example: Example, draft: Draft, wanted: Mended) -> HttpResponse:
    try:
        made = mended(found.example, example, wanted)
    except Rejected as reason:
        return page(request, found, example, draft, {"fault": said(reason, found)})
    verdict = None if blind_since(found, request.user) else done(found, example)[1]
    texts = [text for step in made.steps for text in step.observations]
    results = dict(zip((row.key for row in draft.rows), texts, strict=False))
    shown = {"held": judge(made), "before": verdict, "results": results, "same": same(example, made)}
    return page(request, found, example, draft, shown)


def same(before: Example, after: Example) -> bool:
    return (before.turns, before.answers, before.steps) == (after.turns, after.answers, after.steps)


def save(request: ProjectRequest, found: Trajectory, example: Example, draft: Draft, wanted: Mended) -> HttpResponse:
    try:
        kept = keep(request.project, request.user, lambda id: mended(id, example, wanted), found)
    except Rejected as reason:
        return page(request, found, example, draft, {"fault": said(reason, found)})
    except OSError as error:
        fault = f"The data folder cannot be written to: {error.strerror or error}. Nothing was kept."
        return page(request, found, example, draft, {"fault": fault})
    messages.success(
        request, f"It holds in a fresh world. It is {kept.example} of “{kept.dataset}” now; {found.example} stays."
    )
    there = back_to(request) or kept.get_absolute_url()
    return HttpResponse(headers={"HX-Redirect": there}) if request.htmx else redirect(there)


def said(reason: Rejected, found: Trajectory) -> str:
    """Why it does not hold, without the id, which names nothing yet."""
    return re.sub(r"^(hand-\d+|" + re.escape(found.example) + r"): ", "", str(reason))


def back_to(request: ProjectRequest) -> str:
    """The review that someone came from, if any."""
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
    shown = {"trajectory": found, "dataset": found.dataset, "example": example, "blocks": blocks, **more}
    shown["back"] = back_to(request) or found.get_absolute_url()
    shown["now"] = date.fromisoformat(example.today) if DAY.fullmatch(example.today) else None
    shown["parallel"] = any(len(step.calls) > 1 for step in example.steps)
    status = UNPROCESSABLE if "fault" in more and not request.htmx else 200
    return render(request, "trajectories/fix.html", shown, status=status)
