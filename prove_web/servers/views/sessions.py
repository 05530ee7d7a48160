"""Pages of live sessions: the list, opening one, one at a moment, its entities, its tree of forks."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from ..arguments import CallForm
from ..entity_autocomplete import search_entities
from ..forms import SessionForm
from ..listing import search_sessions
from ..models import LiveSession
from ..session_page import context
from ..session_tree import family
from ..world_cache import NotRebuilt, moments
from .parts import page_or_part, paginate_rows, read_search_param

UNPROCESSABLE = 422


def get_session_or_404(request: ProjectRequest, session: int) -> LiveSession:
    related = ("created_by", "project__organisation", "parent__project__organisation")
    mine = LiveSession.objects.filter(project=request.project).select_related(*related)
    return get_object_or_404(mine, pk=session)


@in_project(Action.VIEW)
@require_safe
def sessions(request: ProjectRequest) -> HttpResponse:
    """List the project's sessions, newest first by default."""
    rows, params = search_sessions(request, request.project)
    page = {"page": paginate_rows(request, rows), **params}
    return page_or_part(request, "servers/sessions.html", "servers/sessions_found.html", page)


@in_project(Action.ANNOTATE)
def new(request: ProjectRequest) -> HttpResponse:
    """Open a session; the URL may preset servers, and a tool or a saved call."""
    if request.method != "POST":
        chosen: dict[str, Any] = {name: request.GET.get(name, "")[:80] for name in ("tool", "saved", "connect")}
        form = SessionForm(request.project, initial={"servers": request.GET.getlist("servers"), **chosen})
        return render(request, "servers/session_new.html", {"form": form})
    form = SessionForm(request.project, request.POST)
    if not form.is_valid():
        return render(request, "servers/session_new.html", {"form": form}, status=UNPROCESSABLE)
    session = form.open(request.project, request.user)
    if form.cleaned_data["connect"]:
        return redirect("session-connect", *request.project.path, session.pk)
    return redirect(build_session_url(session, tool=form.cleaned_data["tool"], saved=form.cleaned_data["saved"]))


@in_project(Action.VIEW)
@require_safe
def session(request: ProjectRequest, session: int) -> HttpResponse:
    """Show a session: call tools, see their effects, look at any moment."""
    return render_session(request, get_session_or_404(request, session))


PARTS = {
    "tools-found": "servers/session_tools_found.html",
    "state-table": "servers/session_table.html",
    "panes": "servers/session_panes.html",
    "calls": "servers/session_live.html",
    "calls-quiet": "servers/session_live.html",
}


def render_session(request: ProjectRequest, session: LiveSession, form: CallForm | None = None) -> HttpResponse:
    """Render the page of a session, or the requested part; for a page with an error in its form the status is 422."""
    found = context(request, session, form)
    target = (request.htmx.target or "").rpartition("#")[2]
    found["quiet"], part = target == "calls-quiet", PARTS.get(target, "servers/session_panes.html")
    response = page_or_part(request, "servers/session.html", part, found)
    if form is not None and (form.error or form.errors) and not request.htmx:
        response.status_code = UNPROCESSABLE
    return response


@in_project(Action.VIEW)
@require_safe
def pick(request: ProjectRequest, session: int) -> HttpResponse:
    """Return the entities of one id type that a search finds in the newest state, as options of a field."""
    try:
        world = moments(get_session_or_404(request, session))[-1].world
    except NotRebuilt:
        return render(request, "servers/picked.html", {"entities": [], "count": 0})
    entities, count = search_entities(world, read_search_param(request, "type"), read_search_param(request, "q"))
    return render(
        request, "servers/picked.html", {"entities": entities, "count": count, "find": read_search_param(request, "q")}
    )


@in_project(Action.VIEW)
@require_safe
def branches(request: ProjectRequest, session: int) -> HttpResponse:
    """Show the tree of forks of a session."""
    here = get_session_or_404(request, session)
    tree = family(here)
    return render(request, "servers/branches.html", {"session": here, "tree": tree})


def build_session_url(session: LiveSession, fragment: str = "", **query: object) -> str:
    given = {name: value for name, value in query.items() if value}
    address = reverse("session", args=[*session.project.path, session.pk])
    return address + (f"?{urlencode(given)}" if given else "") + fragment
