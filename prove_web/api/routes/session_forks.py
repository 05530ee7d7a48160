"""API operations for live sessions: fault injection, the tree of forks, and comparison."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Query, Router, Schema
from pydantic import Field

from mcp_servers.faults import MOST_DELAY, Faults
from prove_web.accounts.roles import Action
from prove_web.servers.models import LiveSession
from prove_web.servers.session_diff import Side, compare_moments
from prove_web.servers.session_services import set_faults
from prove_web.servers.session_tree import family
from prove_web.servers.views.faulty import FaultsForm
from prove_web.servers.views.sessions import get_session_or_404
from prove_web.servers.world_cache import NotRebuilt, faults_of

from ..errors import ApiError, ill_filled
from ..form_schemas import build_query_dict
from ..paging import Key
from ..permissions import in_project
from ..schemas import StrictSchema
from .sessions import SESSION, SESSIONS, CallOut, RowChange, SessionOut, not_rebuilt

router = Router(tags=["Sessions"])
Share = Annotated[int, Field(ge=0, le=100, description="Percentage of calls.")]
Moment = Annotated[int | None, Query(ge=0, le=10**9, description="State after this many calls; default: the newest.")]


class FaultsBody(StrictSchema):
    """The percentage of calls that each fault is injected into; at most 100 in total, 0 everywhere disables faults.

    A call to an `unavailable` or `rate_limited` service fails; a `stale` observation shows the state before the last
    write; a `slow` one is delayed. The same seed and the same calls give the same faults.
    """

    unavailable: Share = 0
    rate_limited: Share = 0
    stale: Share = 0
    slow: Share = 0
    delay: int = Field(Faults().delay, ge=0, le=MOST_DELAY, description="Delay of slow observations in milliseconds.")
    seed: int = Field(0, ge=0, le=10**9)


class Branch(SessionOut):
    """A session of a tree; `depth` counts from its root."""

    depth: int


class DivergentCalls(Schema):
    """The calls of one of two sessions after they diverge."""

    session: int
    at: int
    calls: list[CallOut]


class TableChanges(Schema):
    """The differing rows of a table, truncated; `rows` is the total."""

    table: str
    rows: int
    changes: list[RowChange]


class SessionsCompared(Schema):
    """`common` is the number of shared first calls; `only` lists servers that only one session has."""

    same: bool
    common: int
    one: DivergentCalls
    other: DivergentCalls
    rows: int
    tables: list[TableChanges]
    other_world: bool = Field(description="Whether the seeds or sizes differ.")
    only: list[str]


@router.get(f"{SESSION}/faults", response=FaultsBody)
@in_project(Action.VIEW)
def read_session_faults(request: Any, session: Key) -> Any:
    """Return the fault injection settings of a session."""
    return faults_of(get_session_or_404(request, session)) or Faults()


@router.put(f"{SESSION}/faults", response=FaultsBody)
@in_project(Action.ANNOTATE)
def set_session_faults(request: Any, session: Key, body: FaultsBody) -> Any:
    """Set fault injection for the next calls of a session; earlier calls keep their results."""
    target = get_session_or_404(request, session)
    form = FaultsForm(build_query_dict(body.dict()))
    if not form.is_valid():
        raise ill_filled(form.errors)
    set_faults(target, form.faults)
    return faults_of(target) or Faults()


@router.get(f"{SESSION}/branches", response=list[Branch])
@in_project(Action.VIEW)
def list_branches(request: Any, session: Key) -> Any:
    """List the tree of forks that a session belongs to, each after its parent; up to 500."""
    return [with_depth(one.session, one.depth) for one in family(get_session_or_404(request, session))]


def with_depth(session: LiveSession, depth: int) -> LiveSession:
    session.depth = depth
    return session


@router.get(f"{SESSIONS}/compare", response=SessionsCompared)
@in_project(Action.VIEW)
def compare_sessions(request: Any, a: Key, b: Key, a_at: Moment = None, b_at: Moment = None) -> Any:
    """Compare two states of one session or of two: shared calls, diverging calls, and rows that differ."""
    one, other = get_side(request, "a", a, a_at), get_side(request, "b", b, b_at)
    try:
        found = compare_moments(one, other)
    except NotRebuilt as error:
        raise not_rebuilt(error) from None
    apart = [{"session": each.session.pk, "at": each.at, "calls": calls} for each, calls in found["apart"]]
    tables = [{"table": name, "rows": count, "changes": rows} for name, rows, count in found["tables"]]
    known = {name: found[name] for name in ("same", "rows", "other_world", "only")}
    return known | {"common": len(found["common"]), "one": apart[0], "other": apart[1], "tables": tables}


def get_side(request: Any, name: str, session: int, at: int | None) -> Side:
    """Raises Http404, Refused."""
    found = get_session_or_404(request, session)
    made = found.calls.count()
    if at is not None and at > made:
        raise ApiError(422, f"Session {session} has {made} calls.", f"query.{name}_at", "Choose an existing call.")
    return Side(found, made if at is None else at)
