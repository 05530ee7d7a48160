"""Page of the verified edges: a picture, its sidebar, a table; and the button that rebuilds the graph."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts import audit
from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.environments.enabled_servers import offered
from prove_web.live.jobs import enqueue
from prove_web.live.models import Job, Kind
from prove_web.parse_int import parse_digits

from ..graph_queries import Edge, Proven, newest
from ..picture.chains import chains
from ..picture.colours import choices, paint
from ..picture.params import BY, HOPS, GraphParams, pair_of
from ..picture.sidebar import Drawing, beside
from .parts import paged, typed

KINDS = {
    "created": "Producer creates the ID",
    "crosses": "Across servers",
    "plain": "Plain value",
    "implicit": "Implicit",
}
PARTS = {
    "found": "servers/graph_found.html",
    "graph-panel": "servers/graph_panel.html",
    "graph-legend": "servers/graph_legend.html",
}


@in_project(Action.VIEW)
@require_safe
def graph(request: ProjectRequest) -> HttpResponse:
    """Show the newest graph. A request that replaces one of its parts gets only that part."""
    job, proven = newest(request.project)
    proven = proven.among(offered(request.project)) if proven else None
    part = (request.htmx.target or "").rpartition("#")[2]
    part = part if part in PARTS else ""
    context = {"job": job, "proven": proven, **(build_context(request, proven, part) if proven else {})}
    response = render(request, PARTS.get(part, "servers/graph.html") if proven else "servers/graph.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    if typed(request, "part") == "job" and job is not None and job.ended:
        response["HX-Refresh"] = "true"
    return response


def build_context(request: ProjectRequest, proven: Proven, part: str) -> dict[str, Any]:
    """Return the context of the page, or of one part of it."""
    asked = GraphParams.of(request, proven)
    context: dict[str, Any] = {"asked": asked, "kinds": KINDS.items(), "hops": HOPS, "bys": BY.items()}
    context |= {"servers": sorted({node.server for node in proven.nodes}), "unknown": unknown_tool(request, asked)}
    if part in ("", "found"):
        context["edges"] = paged(request, asked.edges(proven))
    if part in ("", "graph-panel", "graph-legend"):
        chosen = choices(request, request.project, asked.by)
        look = paint(proven, asked.by, chosen)
        edge = edge_of(request, proven)
        context |= {"choices": chosen, "paint": look, "drawing": drawing(request, proven)}
        context |= beside(proven, asked, edge, look.told.get(asked.tool, ""))
    return context


def unknown_tool(request: ProjectRequest, asked: GraphParams) -> str:
    """Return the requested tool if the graph does not have it, else ""."""
    text = typed(request, "tool")
    return "" if asked.tool else text


def edge_of(request: ProjectRequest, proven: Proven) -> Edge | None:
    """Return the edge that the URL names."""
    names = pair_of(typed(request, "edge"))
    return proven.by_names.get(names) if names else None


def drawing(request: ProjectRequest, proven: Proven) -> Drawing:
    """Return the chains in the URL: from `start` to `end`, sampled by `draw`, with the selected one."""
    start, end = typed(request, "start"), typed(request, "end")
    seed, chosen = (parse_digits(typed(request, name), 6) or 0 for name in ("draw", "chain"))
    return Drawing(start, end, seed, chains(proven.by_names, start, end, seed), chosen)


@in_project(Action.LAUNCH)
@require_POST
def prove(request: ProjectRequest) -> HttpResponse:
    """Start a job that rebuilds the graph of the current servers; one at a time."""
    launch(request.project, request.user)
    return redirect("graph", *request.project.path)


@transaction.atomic
def launch(project: Project, user: User) -> Job:
    """Return the job that builds the graph: the queued or running one, or a new one."""
    lock_active_project(project)
    if at_work := Job.objects.filter(project=project, kind=Kind.GRAPH).active().first():
        return at_work
    job: Job = Job.objects.create(project=project, kind=Kind.GRAPH, title="Dependency graph", created_by=user)
    audit.note(user, "launched", job, project.organisation)
    enqueue(job)
    return job
