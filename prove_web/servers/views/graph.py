"""The page of the proven edges, and the button that has them proven."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.jobs import enqueue
from prove_web.live.models import Job, Kind

from ..proven import newest
from .parts import page_or_part, paged, typed

KINDS = {
    "created": "The producer creates the id",
    "crosses": "Between two servers",
    "plain": "A plain value is given",
    "implicit": "Implicit",
}


@in_project(Action.VIEW)
def graph(request: ProjectRequest) -> HttpResponse:
    """The edges of the newest graph as a table with the runs that prove them."""
    job, proven = newest(request.project)
    text, server, kind = typed(request, "q"), typed(request, "server"), typed(request, "kind")
    found = proven.search(text, server if server in SERVERS else "", kind) if proven else []
    context = {
        "job": job,
        "proven": proven,
        "edges": paged(request, found),
        "text": text,
        "server": server,
        "kind": kind,
        "kinds": KINDS.items(),
        "servers": list(SERVERS),
    }
    if typed(request, "part") != "job":
        return page_or_part(request, "servers/graph.html", "servers/graph_found.html", context)
    response = render(request, "servers/graph.html", context)  # its progress is taken out of it
    if job is not None and job.ended:
        response["HX-Refresh"] = "true"
    return response


@in_project(Action.LAUNCH)
@require_POST
def prove(request: ProjectRequest) -> HttpResponse:
    """Have the graph of the servers as they are now proven; one job at a time."""
    with transaction.atomic():
        mine = Job.objects.filter(project=request.project, kind=Kind.GRAPH)
        if not mine.active().exists():
            job = Job.objects.create(
                project=request.project, kind=Kind.GRAPH, title="Dependency graph", created_by=request.user
            )
            enqueue(job)
    return redirect("graph", *request.project.path)
