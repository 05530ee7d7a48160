"""The pages of live sessions, and what is done in them."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from mcp_servers.catalogue import TOOLS
from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .. import calls
from ..arguments import CallForm
from ..forms import SessionForm
from ..models import LiveSession
from ..session_page import context, number
from ..worlds import ServerGone
from .parts import page_or_part, paged

UNPROCESSABLE = 422


def of(request: ProjectRequest, session: int) -> LiveSession:
    mine = LiveSession.objects.filter(project=request.project).select_related("created_by", "project__organisation")
    return get_object_or_404(mine, pk=session)


@in_project(Action.VIEW)
def sessions(request: ProjectRequest) -> HttpResponse:
    """The project's sessions, the newest first."""
    rows = LiveSession.objects.filter(project=request.project).select_related("created_by", "project__organisation")
    counted = rows.annotate(made=Count("calls")).order_by("-created_at", "-pk")
    return render(request, "servers/sessions.html", {"page": paged(request, counted)})


@in_project(Action.ANNOTATE)
def new(request: ProjectRequest) -> HttpResponse:
    """Open a session; the address may choose servers and a tool."""
    if request.method != "POST":
        chosen = {"servers": request.GET.getlist("servers"), "tool": request.GET.get("tool", "")[:80]}
        return render(request, "servers/session_new.html", {"form": SessionForm(initial=chosen)})
    form = SessionForm(request.POST)
    if not form.is_valid():
        return render(request, "servers/session_new.html", {"form": form}, status=UNPROCESSABLE)
    session = form.open(request.project, request.user)
    return redirect(to(session, tool=form.cleaned_data["tool"]))


@in_project(Action.VIEW)
def session(request: ProjectRequest, session: int) -> HttpResponse:
    """A session: call tools, see what they did, look at any moment of it."""
    found = context(request, of(request, session))
    pane = (request.htmx.target or "").rpartition("#")[2]
    part = "servers/session_tools_found.html" if pane == "tools-found" else "servers/session_table.html"
    return page_or_part(request, "servers/session.html", part, found)


@in_project(Action.ANNOTATE)
def call(request: ProjectRequest, session: int) -> HttpResponse:
    """Call a tool, or show its form again: in the other mode, with a fault, or with the question whether to go on."""
    target = of(request, session)
    if request.method != "POST":  # a link on a form shown again, which has this address
        return redirect(f"{target.get_absolute_url()}?{request.GET.urlencode()}")
    server, tool = TOOLS.get(request.POST.get("tool", ""), (None, None))
    if tool is None or server.name not in target.servers:
        messages.error(request, "This session has no such tool. Choose one of those listed.")
        return redirect(to(target))
    form = CallForm.posted(tool, request.POST)
    if "switch" in request.POST:
        return again(request, target, form.switched())
    arguments = form.arguments()
    if arguments is None:
        return again(request, target, form)
    if tool.destructive and request.POST.get("confirmed") != tool.name:
        form.asks = True  # what cannot be undone is confirmed, without any script
        return again(request, target, form)
    try:
        made = calls.make(target, request.user, tool.name, arguments)
    except calls.Busy:
        form.error = "Others are calling in this session at the same time. Look at what they did, then call again."
        return again(request, target, form)
    except ServerGone:
        return redirect(to(target))  # whose page says so
    kept = {name: request.GET.get(name) for name in ("table", "find")}
    return redirect(to(target, f"#call-{made.position}", tool=tool.name, **{"from": made.position}, **kept))


def again(request: ProjectRequest, session: LiveSession, form: CallForm) -> HttpResponse:
    """The page with what was typed."""
    faulty = bool(form.error or form.errors)
    found = context(request, session, form)
    return render(request, "servers/session.html", found, status=UNPROCESSABLE if faulty else 200)


@in_project(Action.ANNOTATE)
@require_POST
def fork(request: ProjectRequest, session: int) -> HttpResponse:
    """A new session that starts as this one was after a call."""
    source = of(request, session)
    at = number(request.POST.get("at"), source.calls.count())
    twin = calls.fork(source, request.user, at)
    messages.success(request, f"This is a fork of “{source}”: what you do here leaves that session as it is.")
    return redirect(to(twin))


@in_project(Action.ANNOTATE)
@require_POST
def reset(request: ProjectRequest, session: int) -> HttpResponse:
    """A fresh session in the same world."""
    source = of(request, session)
    try:
        twin = calls.reset(source, request.user)
    except KeyError:
        return redirect(to(source))  # whose page says that a server is gone
    messages.success(request, f"A fresh session with the same seed. Nothing is lost: “{source}” is still in the list.")
    return redirect(to(twin))


def to(session: LiveSession, fragment: str = "", **query: object) -> str:
    given = {name: value for name, value in query.items() if value}
    address = reverse("session", args=[*session.project.path, session.pk])
    return address + (f"?{urlencode(given)}" if given else "") + fragment
