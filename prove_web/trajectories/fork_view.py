"""Live session in the world of a trajectory, to continue by hand; what is saved from it has it as parent."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from prove_web.accounts.models import User
from prove_web.accounts.permissions import Action, in_project
from prove_web.servers.models import LiveSession, Source
from prove_web.servers.session_from_trajectory import Made, NoWorld, of_example, of_rollout, open_after, stale
from prove_web.servers.session_page import number
from prove_web.servers.session_services import MOST_CALLS
from prove_web.servers.session_tree import MOST_LEVELS
from training_worker.core.trajectory import Example

from .manual_dataset import VERSION
from .models import Opened, Trajectory
from .replay_score import example_of, rollout_of
from .views.lookup import one_trajectory


@in_project(Action.ANNOTATE)
@require_POST
def trajectory_session(request: Any, dataset: int, example: str) -> HttpResponse:
    """Open the world of a trajectory as a live session, at its start or after a number of its calls."""
    found = one_trajectory(request.project, dataset, example)
    try:
        session = open_trajectory_session(request.user, found, number(request.POST.get("calls", "0"), MOST_CALLS))
    except NoWorld as why:
        messages.error(request, str(why))
        return redirect(found)
    if differs(found):
        messages.warning(request, "The servers behave differently now: this session may differ from the trajectory.")
    return redirect(session)


def open_trajectory_session(user: User, trajectory: Trajectory, most: int) -> LiveSession:
    """Return a live session in the world of a trajectory, after its first `most` calls. Raises NoWorld."""
    made = example_of(trajectory)
    if made is None:
        raise NoWorld("Cannot open a session: this trajectory cannot be read.")
    title = f"World of {trajectory.example}" + (f" after call {most}" if most else "")
    with transaction.atomic():
        calls = calls_of(trajectory, made, most)
        source = source_of(trajectory, most)
        session = open_after(trajectory.dataset.project, user, made, title, source, calls)
        Opened.objects.create(session=session, trajectory=trajectory, calls=most)
    return session


def differs(trajectory: Trajectory) -> bool:
    """Return whether its servers behave differently now than when it was created."""
    made = example_of(trajectory)
    return made is not None and stale(made)


def calls_of(trajectory: Trajectory, example: Example, most: int) -> list[Made]:
    """Return the first calls, for a rollout those that reached its world."""
    attempt = rollout_of(trajectory)
    return of_example(example, most) if attempt is None else of_rollout(attempt.calls, most)


def source_of(trajectory: Trajectory, most: int) -> Any:
    if trajectory.rollout is not None and most:
        return Source.ROLLOUT
    return Source.SYNTHESIS if most and VERSION not in trajectory.dataset.job.spec else Source.TRAJECTORY


def origin_of(session: LiveSession) -> Trajectory | None:
    """Return the trajectory in whose world a session, or the one it was forked from, was opened; None without one."""
    for _ in range(MOST_LEVELS):
        found = Opened.objects.filter(session=session).select_related("trajectory").first()
        if found is not None:
            return found.trajectory
        if session.parent is None:
            return None
        session = session.parent
    return None
