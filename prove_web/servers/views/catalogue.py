"""The pages of servers and their tools."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from ..catalogue import MARKS, by_server, card, entries, producers, search, takers
from ..models import SavedCall
from ..parameters import parameters
from .parts import page_or_part, typed


@in_project(Action.VIEW)
def servers(request: ProjectRequest) -> HttpResponse:
    """All servers as cards."""
    return render(request, "servers/servers.html", {"cards": [card(name) for name in SERVERS]})


@in_project(Action.VIEW)
def server(request: ProjectRequest, server: str) -> HttpResponse:
    """One server: its tools by mark, and the tables of a default world."""
    if server not in SERVERS:
        raise Http404
    tools = search(servers=[server])
    marks = [(MARKS[each], [entry for entry in tools if entry.mark == each]) for each in MARKS]
    return render(request, "servers/server.html", {"card": card(server), "marks": [each for each in marks if each[1]]})


@in_project(Action.VIEW)
def tools(request: ProjectRequest) -> HttpResponse:
    """All tools, searched as one types; the address holds the search."""
    text, kind, chosen = typed(request, "q"), typed(request, "kind"), typed(request, "server")
    found = search(text, kind if kind in MARKS else "", [chosen] if chosen in SERVERS else ())
    context = {
        "groups": by_server(found),
        "found": len(found),
        "total": len(entries()),
        "text": text,
        "kind": kind,
        "server": chosen,
        "kinds": MARKS.items(),
        "servers": list(SERVERS),
    }
    return page_or_part(request, "servers/tools.html", "servers/tools_found.html", context)


@in_project(Action.VIEW)
def tool(request: ProjectRequest, tool: str) -> HttpResponse:
    """One tool: its parameters, what feeds it, what it feeds, its schemas."""
    entry = entries().get(tool)
    if entry is None:
        raise Http404
    context = {
        "entry": entry,
        "tool": entry.tool,
        "parameters": parameters(entry.tool),
        "fed_by": [(each, list(producers(each))) for each in sorted({*entry.tool.ids.values()})],
        "saved": SavedCall.objects.filter(organisation=request.organisation, tool=tool).select_related("made_by"),
        "feeds": [(each, list(takers(each))) for each in sorted(entry.tool.produces)],
    }
    return render(request, "servers/tool.html", context)
