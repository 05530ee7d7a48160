"""Page that connects MCP clients to a session: create tokens, show them once, revoke them, and copy snippets."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .. import tokens
from ..client_snippets import PLACE, PREFIX, configurations
from ..models import ConnectToken, LiveSession
from ..session_page import has_missing_server
from .sessions import UNPROCESSABLE, get_session_or_404


@in_project(Action.VIEW)
@require_safe
def connect(request: ProjectRequest, session: int) -> HttpResponse:
    """Show the tokens of a session, and the client snippets."""
    return page(request, get_session_or_404(request, session))


@in_project(Action.ANNOTATE)
@never_cache
@require_POST
def new(request: ProjectRequest, session: int) -> HttpResponse:
    """Create a token and show it, only this once."""
    target = get_session_or_404(request, session)
    try:
        text = tokens.create_token(
            target, request.user, request.POST.get("name", ""), request.POST.get("writes") == "yes"
        )
    except tokens.NotIssued as why:
        return page(request, target, fault=str(why))
    return page(request, target, text)


@in_project(Action.ANNOTATE)
@require_POST
def revoke(request: ProjectRequest, session: int, token: int) -> HttpResponse:
    """Revoke one's own token; those of others require the Maintainer role."""
    target = get_session_or_404(request, session)
    found: ConnectToken = get_object_or_404(target.tokens, pk=token)
    if found.made_by_id != request.user.pk and not request.role.covers(Action.LAUNCH):
        messages.error(request, "Revoking tokens of others requires the Maintainer role.")
    else:
        tokens.revoke(found)
        messages.success(request, f"Token “{found}” revoked.")
    return redirect("session-connect", *request.project.path, target.pk)


def page(request: ProjectRequest, session: LiveSession, text: str = "", fault: str = "") -> HttpResponse:
    """Render the page; with the text of a new token, or with the error of one that was not created."""
    if has_missing_server(session):
        return redirect(session)  # whose page says so
    address = request.build_absolute_uri(f"{PREFIX}/{text or PLACE}/").replace("%3C", "<").replace("%3E", ">")
    known = {
        "session": session,
        "tokens": session.tokens.select_related("made_by"),
        "text": text,
        "address": address,
        "bearer": request.build_absolute_uri(f"{PREFIX}/"),
        "clients": configurations(session, address),
        "fault": fault,
        "name": request.POST.get("name", "")[: tokens.LONGEST] if fault else "",
    }
    return render(request, "servers/connect.html", known, status=UNPROCESSABLE if fault else 200)
