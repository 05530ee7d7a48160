"""The page that makes a trajectory of the calls of a session: what a user asks for, and which calls are the answer."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from mcp_servers.catalogue import TOOLS
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.trajectories.by_hand import keep
from prove_web.trajectories.forking import origin_of
from prove_web.trajectories.verdict import example_of, judge
from training_worker.prove.synthesis import by_hand
from training_worker.prove.synthesis.validate import Rejected
from training_worker.prove.trajectory import WorldRef

from ..models import LiveSession, SessionCall
from ..session_page import gone, number
from .sessions import UNPROCESSABLE, of, to

LONGEST = 4_000  # characters that a user says at once
MOST = 60  # calls that are offered


@in_project(Action.ANNOTATE)
def make(request: ProjectRequest, session: int) -> HttpResponse:
    """Choose calls and say what is asked for; kept only when a fresh world agrees."""
    source = of(request, session)
    if gone(source):
        return redirect(to(source))  # whose page says so
    at = number(request.GET.get("at"), source.calls.count())
    calls = list(source.calls.filter(position__lte=at).order_by("-position")[:MOST])[::-1]
    if request.method != "POST":
        return page(request, source, at, calls, {each.position: "" for each in calls}, chosen(calls))
    said = {each.position: words(request, each.position) for each in calls}
    used = [each for each in calls if f"use-{each.position}" in request.POST]
    made = made_of(calls, used, said)
    world = WorldRef(source.seed, tuple(source.servers), source.size)
    try:
        kept = keep(request.project, request.user, lambda id: by_hand.example_of(id, world, made), origin_of(source))
    except Rejected as reason:
        return page(request, source, at, calls, said, used, str(reason))
    except OSError as error:
        fault = f"The data folder cannot be written to: {error.strerror or error}. Nothing was kept."
        return page(request, source, at, calls, said, used, fault)
    verdict = judge(example_of(kept))
    score = f"{verdict.reward.total:.2f} of {verdict.most:.2f}" if verdict.reward else "no score"
    messages.success(
        request,
        f"Replayed in a fresh world: {len(made)} call{'s' * (len(made) != 1)} answered the same, score {score}. "
        f"It is {kept.example} of “{kept.dataset}” now.",
    )
    return redirect(kept)


def made_of(calls: list[SessionCall], used: list[SessionCall], said: dict[int, str]) -> list[by_hand.Made]:
    """The chosen calls with what is said before each: words before a call that is left out are for the next one."""
    made, waiting, positions = list[by_hand.Made](), list[str](), {each.position for each in used}
    for each in calls:
        waiting += [said[each.position]] if said[each.position] else []
        if each.position in positions:
            made.append(by_hand.Made(each.tool, each.arguments, each.text, " ".join(waiting)))
            waiting = []
    return made


def words(request: ProjectRequest, position: int) -> str:
    """What the user says before a call."""
    return " ".join(request.POST.get(f"say-{position}", "").replace("\0", "").split())[:LONGEST]


def chosen(calls: list[SessionCall]) -> list[SessionCall]:
    """Those that did what was asked: a refusal is no part of what is right."""
    return [each for each in calls if each.ok and each.tool in TOOLS]


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
    unsaid = by_hand.unsaid([by_hand.Made(each.tool, each.arguments, each.text) for each in good])
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
