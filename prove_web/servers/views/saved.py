"""Calls that a team saves under a name: save, rename, remove. They are run in any session that has their tool."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.accounts.redirects import going_back

from .. import saved_calls
from ..models import SavedCall
from ..saved_calls import NotSaved
from ..session_page import number
from .sessions import of, to


@in_project(Action.ANNOTATE)
@require_POST
def save(request: ProjectRequest, session: int) -> HttpResponse:
    """Keep a call of a session for the team."""
    source = of(request, session)
    made = source.calls.filter(position=number(request.POST.get("position"), 10**9)).first()
    if made is None:
        messages.error(request, "Call not saved: this session has no such call.")
        return redirect(to(source))
    back = to(source, at=made.position)
    try:
        kept = saved_calls.save(request.organisation, request.user, made, request.POST.get("name", ""))
    except NotSaved as why:
        messages.error(request, str(why))
        return redirect(back)
    messages.success(request, f"“{kept}” saved for the team. It is available wherever {made.tool} can be called.")
    return redirect(back)


@in_project(Action.ANNOTATE)
@require_POST
def change(request: ProjectRequest, saved: int) -> HttpResponse:
    """Rename a saved call of the team, or remove it."""
    one = get_object_or_404(SavedCall, organisation=request.organisation, pk=saved)
    if "remove" in request.POST:
        one.delete()
        messages.success(request, f"“{one.name}” deleted.")
        return back(request, one)
    try:
        name = saved_calls.rename(one, request.POST.get("name", ""))
    except NotSaved as why:
        messages.error(request, str(why))
    else:
        messages.success(request, f"“{one.name}” renamed to “{name}”.")
    return back(request, one)


def back(request: ProjectRequest, one: SavedCall) -> HttpResponse:
    """To the page it was asked from, else to the tool's."""
    return going_back(request, reverse("tool", args=[*request.project.path, one.tool]))
