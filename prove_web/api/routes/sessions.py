"""API operations for live sessions: open, call tools, fork, reset, compare and delete."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from ninja import Query, Router, Schema
from pydantic import Field

from mcp_servers.core import ToolError
from prove_web.accounts.roles import Action
from prove_web.servers import session_services
from prove_web.servers.arguments import validate_arguments
from prove_web.servers.forms import SessionForm
from prove_web.servers.listing import search_sessions
from prove_web.servers.models import LiveSession
from prove_web.servers.session_page import has
from prove_web.servers.tables import changes, differences, overview, view
from prove_web.servers.views.sessions import get_session_or_404
from prove_web.servers.world_cache import Moment, NotRebuilt, ServerGone, WorldDiffers, moments

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..paging import Cursor, Key, Limit, Piece, by_place
from ..permissions import in_project
from ..schemas import StrictSchema, username

router = Router(tags=["Sessions"])
SESSIONS = "/{slug:organisation}/{slug:project}/sessions"
SESSION = SESSIONS + "/{int:session}"
Open = body_of(
    SessionForm,
    "OpenSession",
    without=("tool", "connect", "saved", "servers"),
    optional=True,
    servers=(list[str], Field(..., max_length=100, description="Server names.")),
)


class SessionOut(Schema):
    id: int
    title: str
    servers: list[str]
    seed: int
    size: str
    source: str
    parent: int | None
    parent_at: int
    by: str | None
    created_at: datetime
    calls: int
    url: str

    @staticmethod
    def resolve_parent(session: LiveSession) -> int | None:
        return session.parent_id

    @staticmethod
    def resolve_by(session: LiveSession) -> str | None:
        return username(session.created_by)

    @staticmethod
    def resolve_calls(session: LiveSession) -> int:
        made = getattr(session, "made", None)
        return session.calls.count() if made is None else int(made)

    @staticmethod
    def resolve_url(session: LiveSession) -> str:
        return session.get_absolute_url()


class CallBody(StrictSchema):
    tool: str = Field(max_length=80)
    arguments: dict[str, Any] = {}


class CallOut(Schema):
    """A call and its observation; `ok` is false if the server refused it, which leaves the state unchanged."""

    position: int
    tool: str
    arguments: dict[str, Any]
    ok: bool
    text: str
    by: str | None
    made_at: datetime
    took_us: int | None
    source: str

    @staticmethod
    def resolve_by(call: Any) -> str | None:
        return username(call.made_by)


class ForkBody(StrictSchema):
    at: int | None = Field(None, ge=0, le=10**9, description="State after this many calls; default: the newest.")


class FieldChange(Schema):
    name: str
    before: str
    after: str


class RowChange(Schema):
    server: str
    table: str
    id: str
    how: str
    fields: list[FieldChange]

    @staticmethod
    def resolve_fields(row: Any) -> list[dict[str, str]]:
        return [{"name": name, "before": before, "after": after} for name, before, after in row.fields]


class Diff(Schema):
    """The differing rows, truncated; `rows` is the total. Equal digests mean equal worlds."""

    rows: int
    changes: list[RowChange]
    digest_before: str
    digest_after: str


class TableOut(Schema):
    server: str
    table: str
    rows: int


class TableRowsOut(Schema):
    columns: list[str]
    items: list[list[str]]
    next: str | None


class SessionRemoved(Schema):
    removed: int


MOST_ROWS = 500


@router.get(SESSIONS, response=Piece[SessionOut])
@in_project(Action.VIEW)
def list_sessions(
    request: Any,
    q: Annotated[str, Query(max_length=200, description="Words in title, servers or owner, or a seed.")] = "",
    source: Annotated[str, Query(max_length=20)] = "",
    sort: Annotated[
        str, Query(max_length=20, description="title, seed, calls, owner, source or age; - for descending.")
    ] = "",
    cursor: Cursor = "",
    limit: Limit = 25,
) -> Any:
    """List the project's live sessions, newest first."""
    rows, _ = search_sessions(request, request.project)
    return by_place(rows, cursor, limit)


@router.post(SESSIONS, response={201: SessionOut})
@in_project(Action.ANNOTATE)
def open_session(request: Any, body: Open) -> Any:  # type: ignore[valid-type]
    """Open a session with these servers and the world of a seed."""
    start = {"seed": 1, "size": "default"}
    values = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    form = SessionForm(request.project, build_query_dict(start | values))
    if not form.is_valid():
        raise ill_filled(form.errors)
    return form.open(request.project, request.user)


@router.get(SESSION, response=SessionOut)
@in_project(Action.VIEW)
def read_session(request: Any, session: Key) -> Any:
    """Return one session."""
    return get_session_or_404(request, session)


@router.get(f"{SESSION}/calls", response=Piece[CallOut])
@in_project(Action.VIEW)
def list_calls(request: Any, session: Key, cursor: Cursor = "", limit: Limit = 100) -> Any:
    """List the calls of a session, oldest first."""
    return by_place(get_session_or_404(request, session).calls.select_related("made_by"), cursor, limit)


@router.post(f"{SESSION}/calls", response={201: CallOut})
@in_project(Action.ANNOTATE)
def call_tool(request: Any, session: Key, body: CallBody) -> Any:
    """Call a tool in the newest state. A refused call is also a result: check `ok`."""
    target = get_session_or_404(request, session)
    if not has(target, body.tool):
        raise ApiError(422, "This session has no such tool.", "body.tool", "Choose a tool of its servers.")
    try:
        return session_services.make(target, request.user, body.tool, validate_arguments(body.arguments))
    except ToolError as refused:
        raise ApiError(422, str(refused), "body.arguments", "Send valid arguments.") from None
    except session_services.SessionFullError:
        text = f"A session has at most {session_services.MOST_CALLS:,} calls."
        raise ApiError(409, text, "", "Continue in a fork.") from None
    except session_services.SessionBusyError:
        text = "Another call is running in this session."
        raise ApiError(409, text, "", "Read the new calls, then try again.") from None
    except NotRebuilt as error:
        raise not_rebuilt(error) from None


def not_rebuilt(error: NotRebuilt) -> ApiError:
    fresh = "reset it to get a new one" if isinstance(error, WorldDiffers) else "open another session"
    return ApiError(409, str(error), "", f"Its calls are kept; {fresh}.")


@router.get(f"{SESSION}/diff", response=Diff)
@in_project(Action.VIEW)
def diff_session(
    request: Any,
    session: Key,
    before: Annotated[
        int, Query(ge=0, le=10**9, description="State after this many calls; 0 is the initial state.")
    ] = 0,
    after: Annotated[
        int | None, Query(ge=0, le=10**9, description="State after this many calls; default: the newest.")
    ] = None,
    beside: Annotated[
        int | None, Query(ge=1, le=2**63 - 1, description="Session that `after` refers to; default: this one.")
    ] = None,
) -> Any:
    """Return the rows that differ between two states of a session, or of two sessions."""
    here = get_session_or_404(request, session)
    other = get_session_or_404(request, beside) if beside else here
    one, two = get_moment(here, before), get_moment(other, after)
    rows = list(changes(one.world, two.world) if beside is None else differences(one.world, two.world))
    digests = {"digest_before": one.world.digest(), "digest_after": two.world.digest()}
    return {"rows": len(rows), "changes": rows[:MOST_ROWS], **digests}


def get_moment(session: LiveSession, at: int | None) -> Moment:
    """Raises Refused."""
    try:
        known = moments(session)
    except NotRebuilt as error:
        raise not_rebuilt(error) from None
    if at is not None and at >= len(known):
        raise ApiError(422, f"Session {session.pk} has {len(known) - 1} calls.", "query", "Choose an existing call.")
    return known[-1 if at is None else at]


@router.get(f"{SESSION}/tables", response=list[TableOut])
@in_project(Action.VIEW)
def list_tables(request: Any, session: Key, at: Annotated[int | None, Query(ge=0, le=10**9)] = None) -> Any:
    """List the tables of a session's world after a number of calls."""
    world = get_moment(get_session_or_404(request, session), at).world
    return [
        {"server": server, "table": table, "rows": rows} for server, tables in overview(world) for table, rows in tables
    ]


@router.get(f"{SESSION}/tables/{{slug:server}}/{{slug:table}}", response=TableRowsOut)
@in_project(Action.VIEW)
def read_table(
    request: Any,
    session: Key,
    server: str,
    table: str,
    at: Annotated[int | None, Query(ge=0, le=10**9)] = None,
    q: Annotated[str, Query(max_length=200, description="Words in the row.")] = "",
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Any:
    """Return the rows of one table as text."""
    found = view(get_moment(get_session_or_404(request, session), at).world, f"{server}.{table}", q)
    if (found.server, found.table) != (server, table):
        raise ApiError(404, f"Table {table[:60]} of {server[:60]} not found.", request.path, "List the tables.")
    page = by_place(found.rows, cursor, limit)
    return {"columns": list(found.columns), "items": found.format_rows(page["items"]), "next": page["next"]}


@router.post(f"{SESSION}/fork", response={201: SessionOut})
@in_project(Action.ANNOTATE)
def fork_session(request: Any, session: Key, body: ForkBody) -> Any:
    """Fork a session after one of its calls."""
    source = get_session_or_404(request, session)
    last = source.calls.count()
    if body.at is not None and body.at > last:
        raise ApiError(422, f"Session {session} has {last} calls.", "body.at", "Choose an existing call.")
    return session_services.fork(source, request.user, last if body.at is None else body.at)


@router.post(f"{SESSION}/reset", response={201: SessionOut})
@in_project(Action.ANNOTATE)
def reset_session(request: Any, session: Key) -> Any:
    """Open a new session at the initial state; this one stays unchanged."""
    try:
        return session_services.reset(get_session_or_404(request, session), request.user)
    except KeyError as gone:
        raise not_rebuilt(ServerGone(gone.args[0])) from None


@router.delete(SESSION, response=SessionRemoved)
@in_project(Action.ANNOTATE)
def end_session(request: Any, session: Key) -> Any:
    """Delete a session with its calls; its forks are kept. Sessions of other members require the Maintainer role."""
    target = get_session_or_404(request, session)
    if target.created_by_id != request.user.pk and not request.role.covers(Action.LAUNCH):
        text = "Deleting another member's session requires the Maintainer role."
        raise ApiError(403, text, request.path, "Ask a maintainer.")
    session_services.remove(target)
    return {"removed": session}
