"""Calls that a team saves under a name: save, rename, remove. They are run in any session that has their tool."""

from __future__ import annotations

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from ..models import SavedCall
from ..session_page import number
from .sessions import of, to

NAMED = "Give it a name of 1 to 80 characters, so that it is found again."


def named(request: ProjectRequest) -> str:
    """The name that was given; empty for none that can be kept."""
    name = " ".join(request.POST.get("name", "").split())
    return name if len(name) <= 80 and "\0" not in name else ""


@in_project(Action.ANNOTATE)
@require_POST
def save(request: ProjectRequest, session: int) -> HttpResponse:
    """Keep a call of a session for the team."""
    source, name = of(request, session), named(request)
    made = source.calls.filter(position=number(request.POST.get("position"), 10**9)).first()
    if made is None:
        messages.error(request, "This session has no such call to save.")
        return redirect(to(source))
    back = to(source, at=made.position)
    if not name:
        messages.error(request, f"The call is not saved. {NAMED}")
        return redirect(back)
    try:
        with transaction.atomic():
            SavedCall.objects.create(
                organisation=request.organisation,
                name=name,
                tool=made.tool,
                arguments=made.arguments,
                made_by=request.user,
            )
    except IntegrityError:
        messages.error(request, f"The team has a call of {made.tool} named “{name}” already; choose another name.")
        return redirect(back)
    messages.success(request, f"“{name}” is saved for the team: it is offered wherever {made.tool} can be called.")
    return redirect(back)


@in_project(Action.ANNOTATE)
@require_POST
def change(request: ProjectRequest, saved: int) -> HttpResponse:
    """Rename a saved call of the team, or remove it."""
    one = get_object_or_404(SavedCall, organisation=request.organisation, pk=saved)
    if "remove" in request.POST:
        one.delete()
        messages.success(request, f"“{one.name}” is removed.")
        return back(request, one)
    name = named(request)
    if not name:
        messages.error(request, f"“{one.name}” keeps its name. {NAMED}")
        return back(request, one)
    try:
        with transaction.atomic():
            SavedCall.objects.filter(pk=one.pk).update(name=name)
        messages.success(request, f"“{one.name}” is “{name}” now.")
    except IntegrityError:
        messages.error(request, f"The team has a call of {one.tool} named “{name}” already; choose another name.")
    return back(request, one)


def back(request: ProjectRequest, one: SavedCall) -> HttpResponse:
    """To the page it was asked from, else to the tool's."""
    given = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(given, {request.get_host()}, request.is_secure()):
        return redirect(given)
    return redirect("tool", *request.project.path, one.tool)
