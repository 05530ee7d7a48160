"""The page that makes a trajectory of the calls of a session: what a user asks for, and which calls are the answer."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.trajectories.replay_score import example_of, judge
from training_worker.prove.synthesis import manual
from training_worker.prove.synthesis.validate import Rejected

from ..models import LiveSession, SessionCall
from ..session_page import gone, number
from ..session_to_trajectory import chosen, offered, save_trajectory, tidy
from .sessions import UNPROCESSABLE, of, to


@in_project(Action.ANNOTATE)
def make(request: ProjectRequest, session: int) -> HttpResponse:
    """Choose calls and say what is asked for; kept only when a fresh world agrees."""
    source = of(request, session)
    if gone(source):
        return redirect(to(source))  # whose page says so
    at = number(request.GET.get("at"), source.calls.count())
    calls = offered(source, at)
    if request.method != "POST":
        return page(request, source, at, calls, {each.position: "" for each in calls}, chosen(calls))
    said = {each.position: words(request, each.position) for each in calls}
    used = [each for each in calls if f"use-{each.position}" in request.POST]
    try:
        kept = save_trajectory(request.project, request.user, source, calls, used, said)
    except Rejected as reason:
        return page(request, source, at, calls, said, used, str(reason))
    except OSError as error:
        fault = f"Cannot write to the data folder: {error.strerror or error}."
        return page(request, source, at, calls, said, used, fault)
    verdict, made = judge(example_of(kept)), len(used)
    score = f"{verdict.reward.total:.2f} of {verdict.most:.2f}" if verdict.reward else "no score"
    messages.success(
        request,
        f"Saved as {kept.example} of “{kept.dataset}”. "
        f"Replay: {made} call{'s' * (made != 1)} returned the same result, score {score}.",
    )
    return redirect(kept)


def words(request: ProjectRequest, position: int) -> str:
    """What the user says before a call."""
    return tidy(request.POST.get(f"say-{position}", ""))


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
    unsaid = manual.unsaid([manual.ManualCall(each.tool, each.arguments, each.text) for each in good])
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
    shown = {"session": session, "at": at, "rows": rows, "fault": fault}
    return render(request, "servers/trajectory_new.html", shown, status=UNPROCESSABLE if fault else 200)
