"""API operations for rollouts in live worlds: open as a session, and edit a call."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from ninja import Router, Schema

from prove_web.accounts.roles import Action
from prove_web.experiments.detail import run_of
from prove_web.experiments.reward_config import scored_at
from prove_web.experiments.rollouts import NoRollouts, examples_of, rollout_of
from prove_web.experiments.session_pages import open_rollout_session
from prove_web.servers.session_from_trajectory import NoWorld

from ..errors import ApiError
from ..paging import Number
from ..permissions import in_project
from .run_metrics import Step
from .runs import RUN
from .session_trajectories import OpenFrom
from .sessions import SessionOut
from .trajectories import EditBody, WhatIf, score_edit

router = Router(tags=["Metrics and rollouts"])
ROLLOUT = f"{RUN}/rollouts/{{int:step}}/{{int:index}}"


class RolloutOpened(Schema):
    """`differs`: the servers' code has changed since; `left_out` is the number of calls that never reached the
    world."""

    session: SessionOut
    differs: bool
    left_out: int


@router.post(f"{ROLLOUT}/session", response={201: RolloutOpened})
@in_project(Action.ANNOTATE)
def open_rollout(request: Any, run: Number, step: Step, index: Number, body: OpenFrom) -> Any:
    """Open a rollout as a live session: at its initial state, or after a number of its calls."""
    try:
        made = open_rollout_session(request.user, run_of(request.project, run), step, index, body.calls)
    except NoRollouts as why:
        raise Http404(str(why)) from None
    except NoWorld as why:
        raise ApiError(409, str(why), "index", "Choose another rollout.") from None
    return made


@router.post(f"{ROLLOUT}/what-if", response=WhatIf)
@in_project(Action.VIEW)
def edit_rollout(request: Any, run: Number, step: Step, index: Number, body: EditBody) -> Any:
    """Return a rollout's reward without one of its calls, or with another in its place; nothing is stored."""
    found = run_of(request.project, run)
    try:
        rollout = rollout_of(found, step, index)
    except NoRollouts as why:
        raise Http404(str(why)) from None
    if rollout is None:
        raise Http404(f"This step has no rollout {index}.")
    example = examples_of(found, [rollout.example]).get(rollout.example)
    if example is None:
        text = "The example of this rollout is no longer in the dataset, so it can't be replayed."
        raise ApiError(409, text, "index", "Choose another rollout.")
    return score_edit(example, rollout, scored_at(found, step), body)
