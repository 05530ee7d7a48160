"""What the three panes of a session show: the tools to call, the calls made, the tables at one moment."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest

from mcp_servers.catalogue import TOOLS, fingerprint

from .arguments import FORM, JSON, CallForm
from .catalogue import search
from .models import LiveSession, SessionCall
from .tables import changes, overview, suggestions, view
from .views.parts import PAGE, paged, typed
from .worlds import Moment, ServerGone, moments


def context(request: HttpRequest, session: LiveSession, form: CallForm | None = None) -> dict[str, Any]:
    """All of the page. A session whose server is gone has its calls left, and nothing else."""
    try:
        known = moments(session)
    except ServerGone as error:
        return {"session": session, "gone": str(error), **history(request, session, ())}
    at = number(request.GET.get("at"), len(known) - 1)
    return {
        "session": session,
        "last": len(known) - 1,
        "at": at,
        "now": known[at].world.now,
        "drifted": [position for position, moment in enumerate(known) if not moment.as_recorded],
        "other_code": session.fingerprint != fingerprint(session.servers),
        **tools(request, session, known[-1], form),
        **history(request, session, known),
        **state(request, known, at),
    }


def number(text: str | None, most: int) -> int:
    """The position that an address asks for; the newest for one that is none."""
    return int(text) if text and text.isdecimal() and len(text) < 10 and int(text) <= most else most


def tools(request: HttpRequest, session: LiveSession, now: Moment, form: CallForm | None) -> dict[str, Any]:
    """The tools found, or the form of the chosen one with ids of the world to choose from."""
    form = form or asked_for(request, session)
    text = typed(request, "find_tool")
    offered = {each: suggestions(now.world, each) for each in sorted(set(form.tool.ids.values()))} if form else {}
    found = search(text, servers=session.servers) if form is None else []
    return {"form": form, "suggestions": offered.items(), "tools": found, "find_tool": text}


def asked_for(request: HttpRequest, session: LiveSession) -> CallForm | None:
    """The form the address asks for: of `tool`, filled like the call `from`, as JSON if `mode` says so."""
    server, tool = TOOLS.get(request.GET.get("tool", ""), (None, None))
    if tool is None or server.name not in session.servers:
        return None
    source = number(request.GET.get("from"), 10**9)
    call = session.calls.filter(position=source, tool=tool.name).first() if "from" in request.GET else None
    mode = JSON if request.GET.get("mode") == JSON else FORM
    return CallForm.filled(tool, call.arguments if call else {}, mode)


def history(request: HttpRequest, session: LiveSession, known: tuple[Moment, ...]) -> dict[str, Any]:
    """A page of the calls, the newest first, each with what it changed."""
    rows = session.calls.select_related("made_by").order_by("-position")
    page = Paginator(rows, PAGE).get_page(request.GET.get("calls"))
    return {"calls": page, "steps": [step(call, known) for call in page]}


def step(call: SessionCall, known: tuple[Moment, ...]) -> dict[str, Any]:
    position = call.position
    if position >= len(known):  # made since the page began to be put together, or the server is gone
        return {"call": call, "changes": [], "as_recorded": True}
    return {
        "call": call,
        "changes": list(changes(known[position - 1].world, known[position].world)),
        "as_recorded": known[position].as_recorded,
    }


def state(request: HttpRequest, known: tuple[Moment, ...], at: int) -> dict[str, Any]:
    """A page of one table at one moment: the one asked for, else the one the call changed. Changed rows come first."""
    world, find = known[at].world, typed(request, "find")
    changed = list(changes(known[at - 1].world, world)) if at else []
    first = f"{changed[0].server}.{changed[0].table}" if changed else ""
    table = view(world, request.GET.get("table") or first, find)
    touched = {each.id: each.how for each in changed if (each.server, each.table) == (table.server, table.table)}
    page = paged(request, sorted(table.rows, key=lambda row: row.id not in touched))
    shown = [(touched.get(row.id, ""), cells) for row, cells in zip(page, table.shown(list(page)), strict=True)]
    return {"tables": overview(world), "table": table, "page": page, "rows": shown, "find": find}
