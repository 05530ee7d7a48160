"""Context of a session's panes: calls made, the call to make and the selected one, tables at a moment."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.core import ToolError
from mcp_servers.world import World

from .arguments import FORM, JSON, CallForm, validate_arguments
from .catalogue import card, search
from .entity_autocomplete import LISTED, search_entities
from .field_errors import of_refusal
from .listing import build_sort_state
from .models import LiveSession, SavedCall, SessionCall
from .result import result
from .tables import RowChange, changes, overview, view
from .views.parts import PAGE, paginate_rows, read_search_param
from .world_cache import Moment, NotRebuilt, WorldDiffers, faults_of, get_injected_faults, moments


def context(
    request: HttpRequest, session: LiveSession, form: CallForm | None = None, at: int | None = None
) -> dict[str, Any]:
    """Return the whole context. A session whose world can't be rebuilt has only its calls.

    `at` is the moment to show unless the URL names one.
    """
    saved = list(SavedCall.objects.filter(organisation=session.project.organisation_id).select_related("made_by"))
    base = {"session": session, "saved": [one for one in saved if has(session, one.tool)]}
    try:
        known = moments(session)
    except NotRebuilt as error:
        differs = isinstance(error, WorldDiffers)
        return {**base, "gone": str(error), "differs": differs, **history(request, session, (), 0)}
    at = number(request.GET.get("at"), len(known) - 1) if at is None else at
    changed = list(changes(known[at - 1].world, known[at].world)) if at else []
    made = session.calls.select_related("made_by").filter(position=at).first() if at else None
    values: dict[str, Any] = {
        **base,
        "last": len(known) - 1,
        "at": at,
        "chosen": "at" in request.GET,
        "now": known[at].world.now,
        "digest": known[at].world.digest(),
        "faults": faults_of(session),
        "again": session.forks.filter(parent_at=0).order_by("-pk").values_list("pk", flat=True).first(),
        "drifted": [position for position, moment in enumerate(known) if not moment.as_recorded],
        "other_code": session.fingerprint != fingerprint(session.servers),
        "cards": [card(name) for name in session.servers],
        **tools(request, session, known[-1], form),
        **history(request, session, known, at),
        **(result(request, made, known, changed) if made else {}),
    }
    values |= state(
        request, known[at], changed, values["form"].tool.name if values["form"] else made.tool if made else ""
    )
    values["in_form"] = bool(values["form"] and made and request.GET.get("from") == str(at))
    return values


def number(text: str | None, most: int) -> int:
    """Return the position that a URL requests; the newest for an invalid one."""
    return int(text) if text and text.isdecimal() and len(text) < 10 and int(text) <= most else most


def has(session: LiveSession, tool: str) -> bool:
    return tool in TOOLS and TOOLS[tool][0].name in session.servers


def tools(request: HttpRequest, session: LiveSession, now: Moment, form: CallForm | None) -> dict[str, Any]:
    """Return the matching tools, or the form of the selected tool with ids of the world to choose from."""
    form = form or parse_call_form(request, session)
    text = read_search_param(request, "find_tool")
    types = sorted(set(form.tool.ids.values())) if form else []
    offered = {each: search_entities(now.world, each, "", LISTED)[0] for each in types}
    entries = search(text, servers=session.servers) if form is None else []
    return {"form": form, "suggestions": offered.items(), "tools": entries, "find_tool": text}


def parse_call_form(request: HttpRequest, session: LiveSession) -> CallForm | None:
    """Return the form that the URL requests, or None.

    It is of `tool`, filled like the call `from` or a `saved` one, or with the arguments `given` as JSON; `mode` selects
    JSON. A refused call comes with its errors.
    """
    name = request.GET.get("tool", "")
    if not has(session, name):
        return None
    tool, mode = TOOLS[name][1], JSON if request.GET.get("mode") == JSON else FORM
    if "from" in request.GET:
        call = session.calls.filter(position=number(request.GET["from"], 10**9), tool=name).first()
        return of_call(call, mode) if call else CallForm.from_arguments(tool, {}, mode)
    if "given" in request.GET:
        return CallForm.from_arguments(tool, parse_arguments(request.GET["given"]), mode)
    if "saved" in request.GET:
        saved = SavedCall.objects.filter(organisation=session.project.organisation_id, tool=name)
        one = saved.filter(pk=number(request.GET["saved"], 10**9)).first()
        return CallForm.from_arguments(tool, one.arguments if one else {}, mode)
    return CallForm.from_arguments(tool, {}, mode)


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments in a URL; none if they are invalid."""
    try:
        return validate_arguments(text)
    except ToolError:
        return {}


def of_call(call: SessionCall, mode: str = FORM) -> CallForm:
    """Return the form that repeats this call, with its refusal beside the fields."""
    tool = TOOLS[call.tool][1]
    form = CallForm.from_arguments(tool, call.arguments, mode)
    if not call.ok:
        form.errors, form.error = of_refusal(tool, call.arguments, call.text)
        if form.mode == JSON:
            form.error = " ".join([*(f"{path}: {text}" for path, text in form.errors.items()), form.error]).strip()
    return form


def history(request: HttpRequest, session: LiveSession, known: tuple[Moment, ...], at: int) -> dict[str, Any]:
    """Return a page of the calls, newest first, each with its changes: the requested page, or the one with `at`."""
    rows = session.calls.select_related("made_by").order_by("-position")
    pages = Paginator(rows, PAGE)
    number = request.GET.get("calls") or (max(0, len(known) - 1 - at) // PAGE + 1 if at else None)
    page = pages.get_page(number)
    return {"calls": page, "steps": [step(call, known) for call in page]}


def step(call: SessionCall, known: tuple[Moment, ...]) -> dict[str, Any]:
    position = call.position
    if position >= len(known):  # made since the page was started, or the server is gone
        return {"call": call, "changed": 0, "as_recorded": True, "met": ()}
    return {
        "call": call,
        "changed": sum(1 for _ in changes(known[position - 1].world, known[position].world)),
        "as_recorded": known[position].as_recorded,
        "met": get_injected_faults(known, position),
    }


def state(request: HttpRequest, moment: Moment, changed: list[RowChange], tool: str) -> dict[str, Any]:
    """Return a page of one table at one moment.

    The table is the requested one, else the one that the call changed, else the first of the tool's server. Changed
    rows come first unless another order is requested.
    """
    world, find, order = moment.world, read_search_param(request, "find"), read_search_param(request, "sort")
    first = f"{changed[0].server}.{changed[0].table}" if changed else first_table(world, tool)
    table = view(world, request.GET.get("table") or first, find)
    touched = {each.id: each.how for each in changed if (each.server, each.table) == (table.server, table.table)}
    order = order if order.removeprefix("-") in table.columns else ""
    ordered = table.sort_rows(order) if order else sorted(table.rows, key=lambda row: row.id not in touched)
    page = paginate_rows(request, ordered)
    rows = [(touched.get(row.id, ""), cells) for row, cells in zip(page, table.format_rows(list(page)), strict=True)]
    return {
        "tables": overview(world),
        "changed_tables": {f"{each.server}.{each.table}" for each in changed},
        "table": table,
        "heads": [{"title": name, **build_sort_state(name, order)} for name in table.columns],
        "gone_rows": [each for each in changed if each.id in touched and each.how == "removed"],
        "page": page,
        "rows": rows,
        "find": find,
        "sort": order,
    }


def first_table(world: World, tool: str) -> str:
    """Return the initial table: the first of the tool's server, if the world has that server."""
    server = TOOLS[tool][0].name if tool in TOOLS else ""
    return next((f"{name}.{tables[0][0]}" for name, tables in overview(world) if name == server and tables), "")


def has_missing_server(session: LiveSession) -> bool:
    return any(name not in SERVERS for name in session.servers)
