"""Page of the command palette, and the list for its dialog."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.servers.views.parts import page_or_part, read_search_param

from .find import find


@in_project(Action.VIEW)
@require_GET
def palette(request: ProjectRequest) -> HttpResponse:
    """Show what the words match; without script as a page of its own."""
    text = read_search_param(request, "q")
    context = {"groups": find(request.project, request.role, text), "text": text}
    return page_or_part(request, "palette/page.html", "palette/found.html", context)
