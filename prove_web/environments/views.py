"""The pages of a project's environment: what is on, how servers changed, their checks, the gateway."""

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
    """What is switched on, the first world, the gateway, versions, servers of others."""
    return page(request)


@in_project(Action.LAUNCH)
@require_POST
def save(request: ProjectRequest) -> HttpResponse:
    """Switch servers on and off for the project; choose its first world."""
    form = EnvironmentForm(request.project, request.POST)
    if not form.is_valid():
        return page(request, form, status=UNPROCESSABLE)
    off = form.save().off
    told = f"{len(off)} of {len(SERVERS)} servers disabled" if off else "All servers enabled"
    messages.success(request, f"{told}.")
    return redirect("environments", *request.project.path)


@in_project(Action.VIEW)
@require_GET
def server_versions(request: ProjectRequest, server: str) -> HttpResponse:
    """How one server's tools changed, and which data sets of the project were made before."""
    if server not in SERVERS:
        raise Http404
    found = versions.history(server, request.project)
    return render(request, "environments/versions.html", {"server": server, "changes": found})


@in_project(Action.LAUNCH)
@require_POST
def check(request: ProjectRequest, server: str) -> HttpResponse:
    """Have one server's laws run."""
    if server not in SERVERS:
        raise Http404
    start(request, [server])
    return redirect("server", *request.project.path, server)


@in_project(Action.LAUNCH)
@require_POST
def check_all(request: ProjectRequest) -> HttpResponse:
    """Have the laws of all servers run, one server after the other."""
    start(request, list(SERVERS))
    return redirect("servers", *request.project.path)


def start(request: ProjectRequest, servers: list[str]) -> None:
    """Ask for a check of those that are not being checked; says so when nobody can be asked."""
    if why := ask(servers):
        messages.error(request, why)


def ask(servers: list[str]) -> str:
    """Ask for a check of those that are not being checked; why nobody could be asked, or nothing."""
    known = server_checks.health(servers)
    for name in servers:
        if known[name].at_work:
            continue
        asked = server_checks.create_check(name)
        if not broker.later(CHECK, check=asked.pk):
            why = "The broker does not respond, so the check was not started."
            ServerCheck.objects.filter(pk=asked.pk).update(error=why, ended_at=timezone.now())
            return f"{why} Try again later, or run: manage.py check_servers {name}"
    return ""
