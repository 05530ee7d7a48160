"""The picture of the graph as data, and an edge's evidence opened as a live session."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.cache import patch_cache_control
from django.views.decorators.http import conditional_page, require_GET, require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.environments.enabled_servers import offered
from prove_web.live.models import Job, Kind, State

from ..graph_queries import load, newest
from ..picture.colours import choices, paint
from ..picture.evidence_session import reopen, scene
from ..picture.layout import load_layout
from ..picture.params import GraphParams, pair_of, written
from ..picture.serializers import serialize_graph
from ..session_services import Busy
from .graph import drawing, edge_of
from .parts import typed
from .sessions import to

LONGEST = 4_000  # characters of arguments in an address


@in_project(Action.VIEW)
@require_GET
@conditional_page
def data(request: ProjectRequest) -> HttpResponse:
    """What the picture is drawn from, by the same filters as the page's; `open` names the server that is looked at.

    It is empty where no graph is proven. With an ETag: asked for again, it is sent only when it has changed.
    """
    done = Job.objects.filter(project=request.project, kind=Kind.GRAPH, state=State.DONE).first()
    proven = load(done) if done else None
    answer = JsonResponse({})
    if done and proven:
        layout, proven = load_layout(proven, done.out), proven.among(offered(request.project))
        asked = GraphParams.of(request, proven)
        look = paint(proven, asked.by, choices(request, request.project, asked.by))
        edge, chain = edge_of(request, proven), drawing(request, proven).chain
        answer = JsonResponse(
            serialize_graph(proven, layout, asked, look, typed(request, "open"), edge.names if edge else None, chain)
        )
    patch_cache_control(answer, private=True, no_cache=True)
    return answer


@in_project(Action.ANNOTATE)
@require_POST
def open_evidence(request: ProjectRequest) -> HttpResponse:
    """A live session in the world in which an edge was proven, with the first call of its evidence made."""
    _, proven = newest(request.project)
    names = pair_of(request.POST.get("edge", "")[:200])
    edge = proven.by_names.get(names) if proven and names else None
    found = scene(edge, request.POST.get("parameter", "")[:80]) if edge else None
    if edge is None or found is None:
        messages.error(request, "Evidence not found in the latest graph. Choose an edge again.")
        return redirect("graph", *request.project.path)
    try:
        session, made, same = reopen(found, request.project, request.user, edge)
    except Busy:
        messages.error(request, "The session could not be opened. Try again.")
        return redirect(f"{request.path.removesuffix('open/')}?edge={written(edge.names)}")
    if same:
        messages.success(request, f"{made.tool} returned the same result as in the evidence. {found.advice}.")
    else:
        messages.warning(request, f"{made.tool} returned a different result than in the evidence. Rebuild the graph.")
    name, arguments = found.then
    given = json.dumps(arguments, ensure_ascii=False)
    return redirect(to(session, f"#call-{made.position}", tool=name, given=given if len(given) < LONGEST else ""))
