"""Saved calls: tools with arguments that a team keeps under names, to be called again in any session."""

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
from prove_web.servers.views.sessions import of

from ..errors import Refused
from ..models import ApiToken
from ..paging import Cursor, Key, Limit, Piece, by_place
from ..permissions import in_project
from ..schemas import Strict, username
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


class CallName(Strict):
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
    rows = of_team(request).order_by("name", "pk")
    return by_place(rows.filter(tool=tool) if tool else rows, cursor, limit)


@router.post(f"{SESSION}/save", response={201: SavedOut})
@in_project(Action.ANNOTATE)
def save_call(request: Any, session: Key, body: SaveCall) -> Any:
    """Save a call of a session for the team."""
    made = of(request, session).calls.filter(position=body.position).first()
    if made is None:
        raise Refused(422, "Call not found in this session.", "body.position", "Choose one of its calls.")
    with explained():
        return saved_calls.save(request.organisation, request.user, made, body.name)


@router.post(f"{ONE}/rename", response=SavedOut)
@in_project(Action.ANNOTATE)
def rename_saved_call(request: Any, saved: Key, body: CallName) -> Any:
    """Rename a saved call."""
    found = saved_of(request, saved)
    with explained():
        found.name = saved_calls.rename(found, body.name)
    return found


@router.delete(ONE, response=CallRemoved)
@in_project(Action.ANNOTATE)
def remove_saved_call(request: Any, saved: Key) -> Any:
    """Delete a saved call."""
    saved_of(request, saved).delete()
    return {"removed": saved}


def of_team(request: Any) -> QuerySet[SavedCall]:
    """Those of all its projects, which a token for one of them does not reach. Raises Refused."""
    if isinstance(request.auth, ApiToken) and request.auth.project_id:
        told = "Saved calls belong to all projects of the team; this token is limited to one project."
        raise Refused(403, told, "Authorization", "Use a token for all projects.")
    return SavedCall.objects.filter(organisation=request.organisation).select_related("made_by")


def saved_of(request: Any, saved: int) -> SavedCall:
    """Raises Http404, Refused."""
    found: SavedCall = get_object_or_404(of_team(request), pk=saved)
    return found


@contextmanager
def explained() -> Iterator[None]:
    try:
        yield
    except NotSaved as why:
        raise Refused(422, str(why), "body.name", "Choose another name.") from None
