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
from prove_web.core.parse_int import parse_digits
from prove_web.environments.enabled_servers import list_enabled_servers
from prove_web.live.jobs import enqueue
from prove_web.live.models import Job, Kind

from ..graph_queries import Edge, Proven, newest
from ..picture.chains import chains
from ..picture.colours import choices, paint
from ..picture.params import BY, HOPS, GraphParams, pair_of
from ..picture.sidebar import ChainSelection, build_sidebar
from .parts import paginate_rows, read_search_param

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
    proven = proven.filter_by_servers(list_enabled_servers(request.project)) if proven else None
    part = (request.htmx.target or "").rpartition("#")[2]
    part = part if part in PARTS else ""
    context = {"job": job, "proven": proven, **(build_context(request, proven, part) if proven else {})}
    response = render(request, PARTS.get(part, "servers/graph.html") if proven else "servers/graph.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    if read_search_param(request, "part") == "job" and job is not None and job.ended:
        response["HX-Refresh"] = "true"
    return response


def build_context(request: ProjectRequest, proven: Proven, part: str) -> dict[str, Any]:
    """Return the context of the page, or of one part of it."""
    params = GraphParams.from_request(request, proven)
    context: dict[str, Any] = {"params": params, "kinds": KINDS.items(), "hops": HOPS, "bys": BY.items()}
    context |= {"servers": sorted({node.server for node in proven.nodes}), "unknown": unknown_tool(request, params)}
    if part in ("", "found"):
        context["edges"] = paginate_rows(request, params.edges(proven))
    if part in ("", "graph-panel", "graph-legend"):
        chosen = choices(request, request.project, params.by)
        look = paint(proven, params.by, chosen)
        edge = edge_of(request, proven)
        context |= {"choices": chosen, "paint": look, "drawing": parse_chain_selection(request, proven)}
        context |= build_sidebar(proven, params, edge, look.notes.get(params.tool, ""))
    return context


def unknown_tool(request: ProjectRequest, params: GraphParams) -> str:
    """Return the requested tool if the graph does not have it, else ""."""
    text = read_search_param(request, "tool")
    return "" if params.tool else text


def edge_of(request: ProjectRequest, proven: Proven) -> Edge | None:
    """Return the edge that the URL names."""
    names = pair_of(read_search_param(request, "edge"))
    return proven.by_names.get(names) if names else None


def parse_chain_selection(request: ProjectRequest, proven: Proven) -> ChainSelection:
    """Return the chains in the URL: from `start` to `end`, sampled by `draw`, with the selected one."""
    start, end = read_search_param(request, "start"), read_search_param(request, "end")
    seed, chosen = (parse_digits(read_search_param(request, name), 6) or 0 for name in ("draw", "chain"))
    return ChainSelection(start, end, seed, chains(proven.by_names, start, end, seed), chosen)


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
