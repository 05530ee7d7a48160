"""What is done with live sessions beside calling tools: faults on purpose, branches, and two of them compared."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Query, Router, Schema
from pydantic import Field

from mcp_servers.faults import MOST_DELAY, Faults
from prove_web.accounts.roles import Action
from prove_web.servers.models import LiveSession
from prove_web.servers.session_diff import Side, compared
from prove_web.servers.session_services import set_faults
from prove_web.servers.session_tree import family
from prove_web.servers.views.faulty import FaultsForm
from prove_web.servers.views.sessions import of
from prove_web.servers.world_cache import NotRebuilt, faults_of

from ..errors import Refused, ill_filled
from ..form_schemas import posted
from ..paging import Key
from ..permissions import in_project
from ..schemas import Strict
from .sessions import SESSION, SESSIONS, CallOut, RowChange, SessionOut, not_rebuilt

router = Router(tags=["Sessions"])
Share = Annotated[int, Field(ge=0, le=100, description="Of a hundred calls.")]
Moment = Annotated[int | None, Query(ge=0, le=10**9, description="After so many calls; the newest if left out.")]


class FaultsBody(Strict):
    """How many of a hundred calls meet each kind of fault; all together a hundred at most, and none switches them off.

    An `unavailable` or `rate_limited` service refuses the call; a `stale` answer is as before the last write; a `slow`
    one comes late. The same seed and the same calls meet the same faults.
    """

    unavailable: Share = 0
    rate_limited: Share = 0
    stale: Share = 0
    slow: Share = 0
    delay: int = Field(Faults().delay, ge=0, le=MOST_DELAY, description="Milliseconds that a late answer takes.")
    seed: int = Field(0, ge=0, le=10**9)


class Branch(SessionOut):
    """A session of a tree; `depth` counts from its root."""

    depth: int


class Apart(Schema):
    """The calls of one of two sessions from where they part."""

    session: int
    at: int
    calls: list[CallOut]


class TableChanges(Schema):
    """The rows of a table that differ, at most so many; `rows` counts all."""

    table: str
    rows: int
    changes: list[RowChange]


class SessionsCompared(Schema):
    """`common` is how many first calls the two share; `only` the servers that one of them lacks."""

    same: bool
    common: int
    one: Apart
    other: Apart
    rows: int
    tables: list[TableChanges]
    other_world: bool = Field(description="Whether they were opened with another seed or size.")
    only: list[str]


@router.get(f"{SESSION}/faults", response=FaultsBody)
@in_project(Action.VIEW)
def read_session_faults(request: Any, session: Key) -> Any:
    """The faults that the next calls of a session meet on purpose."""
    return faults_of(of(request, session)) or Faults()


@router.put(f"{SESSION}/faults", response=FaultsBody)
@in_project(Action.ANNOTATE)
def set_session_faults(request: Any, session: Key, body: FaultsBody) -> Any:
    """Have the next calls of a session meet faults on purpose, or none; those made before keep what they met."""
    target = of(request, session)
    form = FaultsForm(posted(body.dict()))
    if not form.is_valid():
        raise ill_filled(form.errors)
    set_faults(target, form.faults)
    return faults_of(target) or Faults()


@router.get(f"{SESSION}/branches", response=list[Branch])
@in_project(Action.VIEW)
def list_branches(request: Any, session: Key) -> Any:
    """The tree of forks that a session is in, each after the one it left; up to 500."""
    return [with_depth(one.session, one.depth) for one in family(of(request, session))]


def with_depth(session: LiveSession, depth: int) -> LiveSession:
    session.depth = depth
    return session


@router.get(f"{SESSIONS}/compare", response=SessionsCompared)
@in_project(Action.VIEW)
def compare_sessions(request: Any, a: Key, b: Key, a_at: Moment = None, b_at: Moment = None) -> Any:
    """Two moments side by side, of one session or of two: the calls they share, those they do not, rows that differ."""
    one, other = side(request, "a", a, a_at), side(request, "b", b, b_at)
    try:
        found = compared(one, other)
    except NotRebuilt as error:
        raise not_rebuilt(error) from None
    apart = [{"session": each.session.pk, "at": each.at, "calls": calls} for each, calls in found["apart"]]
    tables = [{"table": name, "rows": count, "changes": rows} for name, rows, count in found["tables"]]
    known = {name: found[name] for name in ("same", "rows", "other_world", "only")}
    return known | {"common": len(found["common"]), "one": apart[0], "other": apart[1], "tables": tables}


def side(request: Any, name: str, session: int, at: int | None) -> Side:
    """Raises Http404, Refused."""
    found = of(request, session)
    made = found.calls.count()
    if at is not None and at > made:
        raise Refused(422, f"Session {session} has {made} calls.", f"query.{name}_at", "Name one of its moments.")
    return Side(found, made if at is None else at)
