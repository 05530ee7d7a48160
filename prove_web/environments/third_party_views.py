"""Pages of third-party servers: added, tested and removed by an owner, if the operator allows it."""

from __future__ import annotations

from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .form_view import UNPROCESSABLE, page
from .forms import ThirdPartyForm
from .models import ThirdParty

# Test of a third-party server: start it, list its tools, call one of them, and close it immediately.

START_SECONDS, CALL_SECONDS, MEGABYTES = 10.0, 10.0, 1_000
AT_ONCE = 2
turns = BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class ServerTestResult:
    """Result of a test: tools, and the result of the called one; or why it failed, with the last output."""

    tools: tuple[Tool, ...] = ()
    called: str = ""
    ok: bool = False
    text: str = ""
    error: str = ""


def is_server_allowed(server: ThirdParty) -> bool:
    return ("command" if server.command else "url") in settings.EXTERNAL_SERVERS


def attempt(server: ThirdParty, tool: str = "", arguments: str = "{}") -> ServerTestResult:
    """Start the server, list its tools, call one if named, close it."""
    if not is_server_allowed(server):
        return ServerTestResult(error="The operator of this site does not allow this server (PROVE_EXTERNAL_SERVERS).")
    if not turns.acquire(blocking=False):
        return ServerTestResult(error="Other servers are being tested. Try again in a few seconds.")
    try:
        return run_server_test(server, tool, arguments)
    finally:
        turns.release()


def run_server_test(server: ThirdParty, tool: str, arguments: str) -> ServerTestResult:
    from mcp_servers.core import ServerFailed
    from mcp_servers.mcp.external import External  # loads the MCP library, which other pages do not need

    limits = {"start_seconds": START_SECONDS, "call_seconds": CALL_SECONDS}
    external = External(server.name, tuple(server.command), server.url, megabytes=MEGABYTES, **limits)
    tools: tuple[Tool, ...] = ()
    try:
        with external.open() as session:
            tools = tuple(Tool(one.name, one.description or "", one.input_schema) for one in session.tools.values())
            if not tool:
                return ServerTestResult(tools)
            reply = session.call(tool, arguments)
            return ServerTestResult(tools, tool, reply.ok, reply.text)
    except ServerFailed as error:
        return ServerTestResult(tools, tool, error=str(error))


LONGEST = 20_000  # characters of the arguments of a test


@in_project(Action.MANAGE)
@require_POST
def add(request: ProjectRequest) -> HttpResponse:
    """Add a server without starting it."""
    if not settings.EXTERNAL_SERVERS:
        messages.error(request, "The operator of this site does not allow third-party servers.")
        return redirect("environments", *request.project.path)
    form = ThirdPartyForm(request.POST)
    added = form.save(request.project, request.user) if form.is_valid() else None
    if added is None:
        return page(request, adding=form, status=UNPROCESSABLE)
    messages.success(request, f"{added} added, not started yet. Test it here.")
    return redirect("third-party", *request.project.path, added.pk)


@in_project(Action.MANAGE)
def show_third_party_server(request: ProjectRequest, other: int) -> HttpResponse:
    """Show a server; on POST start it, list its tools, and call the named one."""
    found = get_object_or_404(ThirdParty, project=request.project, pk=other)
    tool = request.POST.get("tool", "").strip()[:200]
    arguments = request.POST.get("arguments", "")[:LONGEST].strip() or "{}"
    tried = attempt(found, tool, arguments) if request.method == "POST" else None
    context = {
        "other": found,
        "tried": tried,
        "tool": tool,
        "arguments": arguments,
        "allowed": is_server_allowed(found),
    }
    return render(request, "environments/third_party.html", context)


@in_project(Action.MANAGE)
@require_POST
def remove(request: ProjectRequest, other: int) -> HttpResponse:
    """Remove a server; none of it is running."""
    found = get_object_or_404(ThirdParty, project=request.project, pk=other)
    found.delete()
    messages.success(request, f"{found} removed.")
    return redirect("environments", *request.project.path)
