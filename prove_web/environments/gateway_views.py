"""Actions on the MCP gateway: stop and start it; open, reset, end and start its sessions."""

from __future__ import annotations

import secrets

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from . import gateway
from .form_view import UNPROCESSABLE, gateway_context, page
from .forms import GatewaySessionForm

HERE = "#gateway-title"
DONE = {
    "reset": "Session reset: the next call runs on the initial state.",
    "end": "Session stopped: the next call of its client fails. Start it to let the client reconnect.",
    "start": "Session started from the initial state.",
}
SHARED = "The gateway serves all teams: stopping or starting it requires the Maintainer role in every team."


@in_project(Action.VIEW)
@require_GET
def state(request: ProjectRequest) -> HttpResponse:
    """Show the state of the gateway and its sessions, as the part of the page that is polled."""
    return render(request, "environments/gateway.html", gateway_context(request))


@in_project(Action.LAUNCH)
@require_POST
def switch(request: ProjectRequest) -> HttpResponse:
    """Stop or start the gateway's process, for all teams."""
    if not gateway.can_manage_gateway(request.user):
        messages.error(request, SHARED)
        return redirect_to_environments(request)
    if not gateway.query_gateway().supervised:
        messages.error(request, "The gateway was not started by this site. Stop or start it where it runs.")
        return redirect_to_environments(request)
    if request.POST.get("do") == "stop":
        gateway.stop(request.user)
        messages.success(request, "Stopping the gateway. It stays stopped after a restart of the site.")
    else:
        gateway.start()
        messages.success(request, "Starting the gateway.")
    return redirect_to_environments(request, HERE)


@in_project(Action.ANNOTATE)
@require_POST
def new(request: ProjectRequest) -> HttpResponse:
    """Start a session of this project, with a URL to connect to."""
    form = GatewaySessionForm(request.project, request.POST)
    if not form.is_valid():
        return page(request, starting=form, status=UNPROCESSABLE)
    name = f"{form.cleaned_data['title'] or 'session'} {secrets.token_hex(3)}"
    world = {"seed": form.cleaned_data["seed"], "size": form.cleaned_data["size"]}
    try:
        gateway.send_admin_command({"do": "open", "name": name, **world, "owner": gateway.owner_of(request.project)})
        messages.success(request, f"“{name}” started. Use its URL below in an MCP client.")
    except gateway.GatewayError as error:
        messages.error(request, str(error))
        return redirect_to_environments(request)
    return redirect_to_environments(request, HERE)


@in_project(Action.ANNOTATE)
@require_POST
def session(request: ProjectRequest) -> HttpResponse:
    """Reset, end or start a session of this project, or an unowned one if the user may manage the gateway."""
    sessions = {one.id: one for one in gateway_context(request)["gateway_sessions"]}
    what, session = request.POST.get("do", ""), request.POST.get("session", "")
    try:
        if what not in DONE:
            raise gateway.GatewayError(f"Unknown action. Use one of: {', '.join(DONE)}.")
        if session not in sessions:
            raise gateway.GatewayError("Session not found in this project: it has timed out.")
        gateway.send_admin_command({"do": what, "session": session})
        messages.success(request, f"“{sessions[session].name}”: {DONE[what]}")
    except gateway.GatewayError as error:
        messages.error(request, str(error))
        return redirect_to_environments(request)
    return redirect_to_environments(request, HERE)


def redirect_to_environments(request: ProjectRequest, to: str = "") -> HttpResponse:
    """Redirect to the top of the page, where errors are shown, or to the part that shows the result."""
    return redirect(reverse("environments", args=request.project.path) + to)
