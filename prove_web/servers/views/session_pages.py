"""Pages of a session beyond its panes: comparison of moments, saved calls, and creation of a trajectory."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.accounts.redirects import going_back
from prove_web.trajectories.replay_score import example_of, judge
from training_worker.datasets import manual
from training_worker.synthesis.validate import Rejected

from .. import saved_calls
from ..listing import annotate_call_counts
from ..models import LiveSession, SavedCall, SessionCall
from ..saved_calls import NotSaved
from ..session_diff import Side, compare_moments, sides
from ..session_page import has_missing_server, number
from ..session_to_trajectory import list_usable_calls, normalise_user_message, save_trajectory, select_successful_calls
from ..world_cache import NotRebuilt
from .parts import read_search_param
from .sessions import UNPROCESSABLE, build_session_url, get_session_or_404

OFFERED = 100


@in_project(Action.VIEW)
@require_safe
def compare(request: ProjectRequest) -> HttpResponse:
    """Compare two moments of one session or of two, as `a=12:3&b=14`; without them show the form."""
    rows = LiveSession.objects.filter(project=request.project).select_related("project__organisation", "created_by")
    one, other = (
        side(rows, read_search_param(request, name), read_search_param(request, f"{name}_at")) for name in ("a", "b")
    )
    context: dict[str, Any] = {"a": one, "b": other, "fault": ""}
    if one and other:
        try:
            context["found"] = compare_moments(one, other)
        except NotRebuilt as error:
            context["fault"] = f"One of the two states cannot be shown. {error}"
    elif read_search_param(request, "a") or read_search_param(request, "b"):
        context["fault"] = "One of the two sessions does not exist in this project. Choose sessions from the lists."
    context["sessions"] = list(annotate_call_counts(rows).order_by("-created_at", "-pk")[:OFFERED])
    for chosen_state in (one, other):
        if chosen_state and chosen_state.session.pk not in {each.pk for each in context["sessions"]}:
            context["sessions"].append(chosen_state.session)
    return render(request, "servers/compare.html", context)


def side(rows: Any, text: str, at: str) -> Side | None:
    """Return the moment that a URL names: `12:3`, or `12` with the moment in a field of its own."""
    named = sides(f"{text}:{at}" if at and ":" not in text else text)
    found = annotate_call_counts(rows).filter(pk=named[0]).first() if named else None
    if found is None or named is None:
        return None
    return Side(found, found.made if named[1] is None else min(named[1], found.made))


# Saved calls of a team: save, rename, delete. They can be repeated in any session that has their tool.


@in_project(Action.ANNOTATE)
@require_POST
def save(request: ProjectRequest, session: int) -> HttpResponse:
    """Save a call of a session for the team."""
    source = get_session_or_404(request, session)
    made = source.calls.filter(position=number(request.POST.get("position"), 10**9)).first()
    if made is None:
        messages.error(request, "Call not saved: this session has no such call.")
        return redirect(build_session_url(source))
    back = build_session_url(source, at=made.position)
    try:
        saved = saved_calls.save(request.organisation, request.user, made, request.POST.get("name", ""))
    except NotSaved as why:
        messages.error(request, str(why))
        return redirect(back)
    messages.success(request, f"“{saved}” saved for the team. It is available wherever {made.tool} can be called.")
    return redirect(back)


@in_project(Action.ANNOTATE)
@require_POST
def change(request: ProjectRequest, saved: int) -> HttpResponse:
    """Rename a saved call of the team, or delete it."""
    one = get_object_or_404(SavedCall, organisation=request.organisation, pk=saved)
    if "remove" in request.POST:
        one.delete()
        messages.success(request, f"“{one.name}” deleted.")
        return redirect_to_origin(request, one)
    try:
        name = saved_calls.rename(one, request.POST.get("name", ""))
    except NotSaved as why:
        messages.error(request, str(why))
    else:
        messages.success(request, f"“{one.name}” renamed to “{name}”.")
    return redirect_to_origin(request, one)


def redirect_to_origin(request: ProjectRequest, one: SavedCall) -> HttpResponse:
    """Redirect to the page of origin, else to the tool's page."""
    return going_back(request, reverse("tool", args=[*request.project.path, one.tool]))


# Page that creates a trajectory from a session's calls: user messages, and the calls of the ground truth.


@in_project(Action.ANNOTATE)
def make(request: ProjectRequest, session: int) -> HttpResponse:
    """Choose calls and enter user messages; the trajectory is saved only if a replay in a fresh world agrees."""
    source = get_session_or_404(request, session)
    if has_missing_server(source):
        return redirect(build_session_url(source))  # whose page says so
    at = number(request.GET.get("at"), source.calls.count())
    calls = list_usable_calls(source, at)
    if request.method != "POST":
        return page(request, source, at, calls, {each.position: "" for each in calls}, select_successful_calls(calls))
    said = {each.position: read_user_message(request, each.position) for each in calls}
    used = [each for each in calls if f"use-{each.position}" in request.POST]
    try:
        trajectory = save_trajectory(request.project, request.user, source, calls, used, said)
    except Rejected as reason:
        return page(request, source, at, calls, said, used, str(reason))
    except OSError as error:
        fault = f"Cannot write to the data folder: {error.strerror or error}."
        return page(request, source, at, calls, said, used, fault)
    verdict, made = judge(example_of(trajectory)), len(used)
    score = f"{verdict.reward.total:.2f} of {verdict.most:.2f}" if verdict.reward else "no score"
    messages.success(
        request,
        f"Saved as {trajectory.example} of “{trajectory.dataset}”. "
        f"Replay: {made} call{'s' * (made != 1)} returned the same result, score {score}.",
    )
    return redirect(trajectory)


def read_user_message(request: ProjectRequest, position: int) -> str:
    """Return the user's message before a call."""
    return normalise_user_message(request.POST.get(f"say-{position}", ""))


def page(
    request: ProjectRequest,
    session: LiveSession,
    at: int,
    calls: list[SessionCall],
    said: dict[int, str],
    used: list[SessionCall],
    fault: str = "",
) -> HttpResponse:
    good = [each for each in calls if each.ok]
    unsaid = manual.list_ungrounded_values([manual.ManualCall(each.tool, each.arguments, each.text) for each in good])
    needs = {each.position: values for each, values in zip(good, unsaid, strict=True)}
    marked = {each.position for each in used}
    rows: list[dict[str, Any]] = [
        {
            "call": each,
            "said": said[each.position],
            "used": each.position in marked,
            "first": each is next(iter(good), None),
            "needs": needs.get(each.position, []),
        }
        for each in calls
    ]
    context = {"session": session, "at": at, "rows": rows, "fault": fault}
    return render(request, "servers/trajectory_new.html", context, status=UNPROCESSABLE if fault else 200)
