"""The pages of the servers, and the list of their tools."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.environments.enabled_servers import environment_of
from prove_web.environments.server_checks import health

from ..catalogue import MARKS, Card, by_category, card, id_types, search
from ..tool_list import listed
from .parts import page_or_part, paged

ROWS = 50


@in_project(Action.VIEW)
@require_safe
def servers(request: ProjectRequest) -> HttpResponse:
    """All servers as cards by category, each with what its last check found."""
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
    """One server: its tools by mark, the tables of a default world, its health."""
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
    """All tools that are switched on, searched as one types; the address holds the search."""
    rows, shown = listed(request, request.project)
    path, last = request.project.path, shown["last"]
    context = {
        "page": paged(request, rows, size=ROWS),
        "id_types": id_types(),
        "off": len(SERVERS) - len(shown["servers"]),
        "tools_at": reverse("tools", args=path),
        "servers_at": reverse("servers", args=path),
        "runs_at": reverse("run-rollouts", args=[*path, last.number]) if last else "",
    }
    return page_or_part(request, "servers/tools.html", "servers/tools_found.html", shown | context)
