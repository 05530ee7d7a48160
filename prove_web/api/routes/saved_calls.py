"""API operations for saved calls: tools with arguments, named by the team, for use in any session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.servers import saved_calls
from prove_web.servers.models import SavedCall
from prove_web.servers.saved_calls import NotSaved
from prove_web.servers.views.sessions import get_session_or_404

from ..errors import ApiError
from ..models import ApiToken
from ..paging import Cursor, Key, Limit, Piece, by_place
from ..permissions import in_project
from ..schemas import StrictSchema, username
from .sessions import SESSION

router = Router(tags=["Sessions"])
SAVED = "/{slug:organisation}/{slug:project}/saved-calls"
ONE = SAVED + "/{int:saved}"


class SavedOut(Schema):
    id: int
    name: str
    tool: str
    arguments: dict[str, Any]
    by: str | None
    made_at: datetime

    @staticmethod
    def resolve_by(saved: SavedCall) -> str | None:
        return username(saved.made_by)


class CallName(StrictSchema):
    name: str = Field(max_length=500)


class SaveCall(CallName):
    position: int = Field(ge=1, le=10**9, description="Position of the call in its session, from 1.")


class CallRemoved(Schema):
    removed: int


@router.get(SAVED, response=Piece[SavedOut])
@in_project(Action.VIEW)
def list_saved_calls(
    request: Any,
    tool: Annotated[str, Query(max_length=80, description="Limit to this tool.")] = "",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> Any:
    """List the team's saved calls by name."""
    rows = team_saved_calls(request).order_by("name", "pk")
    return by_place(rows.filter(tool=tool) if tool else rows, cursor, limit)


@router.post(f"{SESSION}/save", response={201: SavedOut})
@in_project(Action.ANNOTATE)
def save_call(request: Any, session: Key, body: SaveCall) -> Any:
    """Save a call of a session for the team."""
    made = get_session_or_404(request, session).calls.filter(position=body.position).first()
    if made is None:
        raise ApiError(422, "Call not found in this session.", "body.position", "Choose one of its calls.")
    with raising_api_errors():
        return saved_calls.save(request.organisation, request.user, made, body.name)


@router.post(f"{ONE}/rename", response=SavedOut)
@in_project(Action.ANNOTATE)
def rename_saved_call(request: Any, saved: Key, body: CallName) -> Any:
    """Rename a saved call."""
    found = get_saved_call(request, saved)
    with raising_api_errors():
        found.name = saved_calls.rename(found, body.name)
    return found


@router.delete(ONE, response=CallRemoved)
@in_project(Action.ANNOTATE)
def remove_saved_call(request: Any, saved: Key) -> Any:
    """Delete a saved call."""
    get_saved_call(request, saved).delete()
    return {"removed": saved}


def team_saved_calls(request: Any) -> QuerySet[SavedCall]:
    """Return the saved calls of all the team's projects; a project token is refused. Raises Refused."""
    if isinstance(request.auth, ApiToken) and request.auth.project_id:
        text = "Saved calls belong to all projects of the team; this token is limited to one project."
        raise ApiError(403, text, "Authorization", "Use a token for all projects.")
    return SavedCall.objects.filter(organisation=request.organisation).select_related("made_by")


def get_saved_call(request: Any, saved: int) -> SavedCall:
    """Raises Http404, Refused."""
    found: SavedCall = get_object_or_404(team_saved_calls(request), pk=saved)
    return found


@contextmanager
def raising_api_errors() -> Iterator[None]:
    try:
        yield
    except NotSaved as why:
        raise ApiError(422, str(why), "body.name", "Choose another name.") from None
