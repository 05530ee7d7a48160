"""A rollout opened as a live session: the world after some of its calls, for manual exploration."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from prove_web.accounts.models import User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.servers.models import LiveSession, Source
from prove_web.servers.session_from_trajectory import NoWorld, of_rollout, open_after, stale
from prove_web.servers.session_page import number
from prove_web.servers.session_services import MOST_CALLS

from .detail import run_of
from .models import Run
from .rollouts import NoRollouts, examples_of, rollout_of


@in_project(Action.ANNOTATE)
@require_POST
def rollout_session(request: ProjectRequest, run: int, step: int, index: int) -> HttpResponse:
    """Open the world of a rollout after its first `calls` calls."""
    most = number(request.POST.get("calls", "0"), MOST_CALLS)
    try:
        made = open_rollout_session(request.user, run_of(request.project, run), step, index, most)
    except (NoRollouts, NoWorld) as why:
        messages.error(request, str(why))
        return redirect(reverse("rollout", args=[*request.project.path, run, step, index]))
    if made.left_out:
        messages.info(request, f"{made.left_out} of these calls never reached the server and are skipped.")
    if made.differs:
        messages.warning(request, "The server code has changed: this state may differ from the rollout's.")
    return redirect(made.session)


@dataclass(frozen=True)
class RolloutSession:
    """An opened session; `left_out` calls never reached the servers.

    `differs` says that the servers' code has changed.
    """

    session: LiveSession
    left_out: int
    differs: bool


def open_rollout_session(user: User, run: Run, step: int, index: int, most: int) -> RolloutSession:
    """Open the world of a rollout after its first `most` calls. Raises NoRollouts, NoWorld, Http404."""
    rollout = rollout_of(run, step, index)
    if rollout is None:
        raise Http404(f"This step has no rollout {index}.")
    example = examples_of(run, [rollout.example]).get(rollout.example)
    if example is None:
        raise NoWorld("Cannot open a session: the example of this rollout is no longer in the dataset.")
    title = f"Run {run.number}, step {step}, rollout {index}" + (f" after call {most}" if most else "")
    made = of_rollout(rollout.calls, most)
    session = open_after(run.project, user, example, title, Source.ROLLOUT, made)
    return RolloutSession(session, most and len(rollout.calls[:most]) - len(made), stale(example))
