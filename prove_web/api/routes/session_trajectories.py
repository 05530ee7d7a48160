"""API operations that convert a session into a trajectory, and a trajectory into a session."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.servers.session_from_trajectory import NoWorld
from prove_web.servers.session_page import has_missing_server
from prove_web.servers.session_services import MOST_CALLS
from prove_web.servers.session_to_trajectory import (
    LONGEST,
    MOST,
    list_usable_calls,
    normalise_user_message,
    save_trajectory,
    select_successful_calls,
)
from prove_web.servers.views.sessions import get_session_or_404
from prove_web.servers.world_cache import ServerGone
from prove_web.trajectories.fork_view import differs, open_trajectory_session
from prove_web.trajectories.views.lookup import one_trajectory
from training_worker.synthesis.validate import Rejected

from ..errors import ApiError
from ..paging import Key, Number
from ..permissions import in_project
from ..schemas import StrictSchema
from .sessions import SESSION, SessionOut, not_rebuilt
from .trajectories import TRAJECTORY, TrajectoryRow, with_project

router = Router(tags=["Sessions"])
SaidText = Annotated[str, Field(max_length=LONGEST)]


class KeepSession(StrictSchema):
    """The user's messages, and the calls of the ground truth."""

    say: dict[int, SaidText] = Field({}, max_length=MOST, description="User message before a call, by its position.")
    use: list[Annotated[int, Field(ge=1, le=10**9)]] | None = Field(
        None, max_length=MOST, description="Positions of the ground-truth calls; default: all that succeeded."
    )
    at: int | None = Field(None, ge=0, le=10**9, description="Last call to use; default: the newest.")


class OpenFrom(StrictSchema):
    calls: int = Field(0, ge=0, le=MOST_CALLS, description="State after this many calls; 0 is the initial state.")


class TrajectoryOpened(Schema):
    """`differs`: the servers' code has changed, so this world may differ from the trajectory's."""

    session: SessionOut
    differs: bool


@router.post(f"{SESSION}/trajectory", response={201: TrajectoryRow})
@in_project(Action.ANNOTATE)
def keep_session(request: Any, session: Key, body: KeepSession) -> Any:
    """Save a session's calls as a trajectory, after a replay in a new world. At most the newest 60 calls are used."""
    source = get_session_or_404(request, session)
    if has_missing_server(source):
        raise not_rebuilt(ServerGone(", ".join(source.servers)))
    calls = list_usable_calls(source, source.calls.count() if body.at is None else body.at)
    known = {each.position: each for each in calls}
    for where, positions in (("say", body.say), ("use", body.use or ())):
        if strange := [position for position in positions if position not in known]:
            text = f"Call {strange[0]} is not among the calls that can be used."
            raise ApiError(422, text, f"body.{where}", "Choose from the newest 60 calls.")
    used = select_successful_calls(calls) if body.use is None else [each for each in calls if each.position in body.use]
    said = {position: normalise_user_message(body.say.get(position, "")) for position in known}
    try:
        return with_project(save_trajectory(request.project, request.user, source, calls, used, said), request.project)
    except Rejected as why:
        raise ApiError(422, str(why), "body", "Add the user's messages and leave out unrelated calls.") from None


@router.post(f"{TRAJECTORY}/session", response={201: TrajectoryOpened})
@in_project(Action.ANNOTATE)
def open_trajectory(request: Any, dataset: Number, example: str, body: OpenFrom) -> Any:
    """Open a trajectory as a live session: at its initial state, or after a number of its calls."""
    found = one_trajectory(request.project, dataset, example)
    try:
        return {"session": open_trajectory_session(request.user, found, body.calls), "differs": differs(found)}
    except NoWorld as why:
        raise ApiError(409, str(why), "example", "Choose another trajectory.") from None
