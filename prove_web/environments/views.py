"""Pages of a project's environment: enabled servers, changes of servers, their checks, the gateway."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live import message_broker as broker

from . import server_checks, versions
from .form_view import UNPROCESSABLE, page
from .forms import EnvironmentForm
from .models import ServerCheck

CHECK = "prove_web.environments.check"


@in_project(Action.VIEW)
@require_GET
def environments(request: ProjectRequest) -> HttpResponse:
    """Show the enabled servers, the initial world, the gateway, the versions and third-party servers."""
    return page(request)


@in_project(Action.LAUNCH)
@require_POST
def save(request: ProjectRequest) -> HttpResponse:
    """Enable and disable servers of the project; set its initial world."""
    form = EnvironmentForm(request.project, request.POST)
    if not form.is_valid():
        return page(request, form, status=UNPROCESSABLE)
    off = form.save().off
    text = f"{len(off)} of {len(SERVERS)} servers disabled" if off else "All servers enabled"
    messages.success(request, f"{text}.")
    return redirect("environments", *request.project.path)


@in_project(Action.VIEW)
@require_GET
def server_versions(request: ProjectRequest, server: str) -> HttpResponse:
    """Show how a server's tools changed, and which datasets of the project were created before."""
    if server not in SERVERS:
        raise Http404
    found = versions.history(server, request.project)
    return render(request, "environments/versions.html", {"server": server, "changes": found})


@in_project(Action.LAUNCH)
@require_POST
def check(request: ProjectRequest, server: str) -> HttpResponse:
    """Start the invariant checks of one server."""
    if server not in SERVERS:
        raise Http404
    start(request, [server])
    return redirect("server", *request.project.path, server)


@in_project(Action.LAUNCH)
@require_POST
def check_all(request: ProjectRequest) -> HttpResponse:
    """Start the invariant checks of all servers, one server after another."""
    start(request, list(SERVERS))
    return redirect("servers", *request.project.path)


def start(request: ProjectRequest, servers: list[str]) -> None:
    """Request checks of servers that are not being checked; show an error if none can be requested."""
    if why := request_checks(servers):
        messages.error(request, why)


def request_checks(servers: list[str]) -> str:
    """Request checks of servers that are not being checked. Return why that failed, or ""."""
    known = server_checks.health(servers)
    for name in servers:
        if known[name].at_work:
            continue
        created = server_checks.create_check(name)
        if not broker.enqueue_task(CHECK, check=created.pk):
            why = "The broker does not respond, so the check was not started."
            ServerCheck.objects.filter(pk=created.pk).update(error=why, ended_at=timezone.now())
            return f"{why} Try again later, or run: manage.py check_servers {name}"
    return ""
