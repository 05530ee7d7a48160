"""Pages of the servers and their tools, and the data of the graph's picture."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.http import conditional_page, require_GET, require_POST, require_safe

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.environments.enabled_servers import environment_of, list_enabled_servers
from prove_web.environments.server_checks import health
from prove_web.live.models import Job, Kind, State

from ..catalogue import MARKS, Card, by_category, card, id_types, search
from ..graph_queries import load, newest
from ..picture.colours import choices, paint
from ..picture.evidence_session import reopen, scene
from ..picture.layout import load_layout
from ..picture.params import GraphParams, format_pair, pair_of
from ..picture.serializers import serialize_graph
from ..session_services import SessionBusyError
from ..tool_list import build_tool_list
from .graph import edge_of, parse_chain_selection
from .parts import page_or_part, paginate_rows, read_search_param
from .sessions import build_session_url

ROWS = 50


@in_project(Action.VIEW)
@require_safe
def servers(request: ProjectRequest) -> HttpResponse:
    """Show all servers as cards by category, each with its last health check."""
    known = health(SERVERS)
    groups = [(title, [(each, known[each.name]) for each in cards]) for title, cards in by_category(SERVERS)]
    context = {
        "categories": groups,
        "off": environment_of(request.project).off,
        "working": any(each.at_work for each in known.values()),
        "total": totals([each for _, cards in by_category(SERVERS) for each in cards]),
    }
    return render(request, "servers/servers.html", context)


def totals(cards: list[Card]) -> dict[str, Any]:
    counts = Counter[str]()
    for each in cards:
        counts.update(dict(each.marks))
    marks = [(MARKS[mark], counts[mark]) for mark in MARKS]
    return {"servers": len(cards), "tools": sum(each.tools for each in cards), "marks": marks}


@in_project(Action.VIEW)
@require_safe
def server(request: ProjectRequest, server: str) -> HttpResponse:
    """Show a server: its tools by mark, the tables of a default world, its health."""
    if server not in SERVERS:
        raise Http404
    tools = search(servers=[server])
    marks = [(MARKS[each], [entry for entry in tools if entry.mark == each]) for each in MARKS]
    context = {
        "card": card(server),
        "marks": [each for each in marks if each[1]],
        "health": health([server])[server],
        "off": server in environment_of(request.project).off,
    }
    return render(request, "servers/server.html", context)


@in_project(Action.VIEW)
@require_safe
def tools(request: ProjectRequest) -> HttpResponse:
    """Show all tools that are switched on, with a live search; the URL holds the search."""
    rows, listing = build_tool_list(request, request.project)
    path, last = request.project.path, listing["last"]
    context = {
        "page": paginate_rows(request, rows, size=ROWS),
        "id_types": id_types(),
        "off": len(SERVERS) - len(listing["servers"]),
        "tools_at": reverse("tools", args=path),
        "servers_at": reverse("servers", args=path),
        "runs_at": reverse("run-rollouts", args=[*path, last.number]) if last else "",
    }
    return page_or_part(request, "servers/tools.html", "servers/tools_found.html", listing | context)


# Data of the graph's picture, and an edge's evidence opened as a live session.

LONGEST = 4_000  # characters of arguments in a URL


@in_project(Action.VIEW)
@require_GET
@conditional_page
def data(request: ProjectRequest) -> HttpResponse:
    """Return the picture's data, filtered like the page; `open` names the expanded server.

    It is empty without a verified graph. Its ETag lets an unchanged picture be skipped.
    """
    done = Job.objects.filter(project=request.project, kind=Kind.GRAPH, state=State.DONE).first()
    proven = load(done) if done else None
    answer = JsonResponse({})
    if done and proven:
        layout, proven = load_layout(proven, done.out), proven.filter_by_servers(list_enabled_servers(request.project))
        params = GraphParams.from_request(request, proven)
        look = paint(proven, params.by, choices(request, request.project, params.by))
        edge, chain = edge_of(request, proven), parse_chain_selection(request, proven).chain
        answer = JsonResponse(
            serialize_graph(
                proven, layout, params, look, read_search_param(request, "open"), edge.names if edge else None, chain
            )
        )
    patch_cache_control(answer, private=True, no_cache=True)
    return answer


@in_project(Action.ANNOTATE)
@require_POST
def open_evidence(request: ProjectRequest) -> HttpResponse:
    """Open a live session in the world in which an edge was verified, with the first call of its evidence made."""
    _, proven = newest(request.project)
    names = pair_of(request.POST.get("edge", "")[:200])
    edge = proven.by_names.get(names) if proven and names else None
    found = scene(edge, request.POST.get("parameter", "")[:80]) if edge else None
    if edge is None or found is None:
        messages.error(request, "Evidence not found in the latest graph. Choose an edge again.")
        return redirect("graph", *request.project.path)
    try:
        session, made, same = reopen(found, request.project, request.user, edge)
    except SessionBusyError:
        messages.error(request, "The session could not be opened. Try again.")
        return redirect(f"{request.path.removesuffix('open/')}?edge={format_pair(edge.names)}")
    if same:
        messages.success(request, f"{made.tool} returned the same result as in the evidence. {found.advice}.")
    else:
        messages.warning(request, f"{made.tool} returned a different result than in the evidence. Rebuild the graph.")
    name, arguments = found.then
    given = json.dumps(arguments, ensure_ascii=False)
    return redirect(
        build_session_url(session, f"#call-{made.position}", tool=name, given=given if len(given) < LONGEST else "")
    )
