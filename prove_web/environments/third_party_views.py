"""The pages of servers that others wrote: added, tried and removed by the owner, where the operator allows it."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .form_view import UNPROCESSABLE, page
from .forms import ThirdPartyForm
from .models import ThirdParty
from .third_party_probe import allowed, attempt

LONGEST = 20_000  # characters of the arguments of a trial


@in_project(Action.MANAGE)
@require_POST
def add(request: ProjectRequest) -> HttpResponse:
    """Add a server; nothing is started."""
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
def one(request: ProjectRequest, other: int) -> HttpResponse:
    """One server; sent, its form starts the server, lists its tools, and calls the one that is named."""
    found = get_object_or_404(ThirdParty, project=request.project, pk=other)
    tool = request.POST.get("tool", "").strip()[:200]
    arguments = request.POST.get("arguments", "")[:LONGEST].strip() or "{}"
    tried = attempt(found, tool, arguments) if request.method == "POST" else None
    context = {"other": found, "tried": tried, "tool": tool, "arguments": arguments, "allowed": allowed(found)}
    return render(request, "environments/third_party.html", context)


@in_project(Action.MANAGE)
@require_POST
def remove(request: ProjectRequest, other: int) -> HttpResponse:
    """Forget a server; nothing of it is running."""
    found = get_object_or_404(ThirdParty, project=request.project, pk=other)
    found.delete()
    messages.success(request, f"{found} removed.")
    return redirect("environments", *request.project.path)
