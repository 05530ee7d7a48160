"""Page of a project's environment, with the errors of a submitted form."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.permissions import ProjectRequest
from prove_web.servers.catalogue import by_category
from prove_web.servers.models import LiveSession, Source

from . import gateway, versions
from .enabled_servers import environment_of
from .forms import EnvironmentForm, GatewaySessionForm, ThirdPartyForm
from .models import ThirdParty

UNPROCESSABLE = 422


def page(
    request: ProjectRequest,
    form: EnvironmentForm | None = None,
    adding: ThirdPartyForm | None = None,
    starting: GatewaySessionForm | None = None,
    status: int = 200,
) -> HttpResponse:
    form = form or EnvironmentForm(request.project)
    known, ticked = versions.counts(), set(form["servers"].value() or ())
    groups = [(title, [(card, card.name in ticked) for card in cards]) for title, cards in by_category(SERVERS)]
    context: dict[str, Any] = {
        "form": form,
        "categories": groups,
        "environment": environment_of(request.project),
        "versions": [(name, known.get(name, 0)) for name in SERVERS],
        "clients": LiveSession.objects.filter(project=request.project, source=Source.MCP).count(),
        "third_party": ThirdParty.objects.filter(project=request.project).select_related("added_by"),
        "external": sorted(settings.EXTERNAL_SERVERS),
        "adding": adding or ThirdPartyForm(),
        "starting": starting or GatewaySessionForm(request.project),
        **gateway_context(request),
    }
    return render(request, "environments/environments.html", context, status=status)


def gateway_context(request: ProjectRequest) -> dict[str, Any]:
    """Return the state of the gateway, and those of its sessions that this user may see here."""
    found, keeper = gateway.query_gateway(), gateway.can_manage_gateway(request.user)
    nobodys = found.list_unowned_sessions() if keeper else []
    return {
        "gateway": found,
        "keeper": keeper,
        "gateway_sessions": [*found.list_project_sessions(request.project), *nobodys],
    }
