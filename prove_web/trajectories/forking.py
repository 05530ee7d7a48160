"""A trajectory opened as a live session, to go on from by hand; what is kept of it has the trajectory as its parent."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from prove_web.accounts.permissions import Action, in_project
from prove_web.servers.branches import MOST_LEVELS
from prove_web.servers.calls import MOST_CALLS
from prove_web.servers.models import LiveSession, Source
from prove_web.servers.opened import Made, NoWorld, of_example, of_rollout, open_after, stale
from prove_web.servers.session_page import number
from training_worker.prove.trajectory import Example

from .by_hand import VERSION
from .models import Opened, Trajectory
from .verdict import example_of, rollout_of


@in_project(Action.ANNOTATE)
@require_POST
def trajectory_session(request: Any, dataset: int, example: str) -> HttpResponse:
    """Open the world of a trajectory as a live session: at its start, or after so many of its calls."""
    rows = Trajectory.objects.of(request.project).select_related("dataset__project__organisation", "dataset__job")
    found = get_object_or_404(rows, dataset__number=dataset, example=example)
    made = example_of(found)
    most = number(request.POST.get("calls", "0"), MOST_CALLS)
    title = f"World of {found.example}" + (f" after call {most}" if most else "")
    try:
        if made is None:
            raise NoWorld("There is no world to open: this trajectory cannot be read.")
        with transaction.atomic():
            calls = calls_of(found, made, most)
            session = open_after(request.project, request.user, made, title, source_of(found, most), calls)
            Opened.objects.create(session=session, trajectory=found, calls=most)
    except NoWorld as why:
        messages.error(request, str(why))
        return redirect(found)
    if stale(made):
        messages.warning(request, "The servers have other code now: this world may differ from the trajectory's.")
    return redirect(session)


def calls_of(trajectory: Trajectory, example: Example, most: int) -> list[Made]:
    """The first calls, of an attempt those that reached its world."""
    attempt = rollout_of(trajectory)
    return of_example(example, most) if attempt is None else of_rollout(attempt.calls, most)


def source_of(trajectory: Trajectory, most: int) -> Any:
    if trajectory.rollout is not None and most:
        return Source.ROLLOUT
    return Source.SYNTHESIS if most and VERSION not in trajectory.dataset.job.spec else Source.TRAJECTORY


def origin_of(session: LiveSession) -> Trajectory | None:
    """The trajectory whose world a session, or what it was forked from, was opened in."""
    for _ in range(MOST_LEVELS):
        found = Opened.objects.filter(session=session).select_related("trajectory").first()
        if found is not None:
            return found.trajectory
        if session.parent is None:
            return None
        session = session.parent
    return None
