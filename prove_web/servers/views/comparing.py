"""The page that lays two moments side by side."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from ..listing import counted
from ..models import LiveSession
from ..session_diff import Side, compared, sides
from ..world_cache import NotRebuilt
from .parts import typed

OFFERED = 100


@in_project(Action.VIEW)
@require_safe
def compare(request: ProjectRequest) -> HttpResponse:
    """Two moments of one session or of two, as `a=12:3&b=14`; without them, the form to choose them."""
    rows = LiveSession.objects.filter(project=request.project).select_related("project__organisation", "created_by")
    one, other = (side(rows, typed(request, name), typed(request, f"{name}_at")) for name in ("a", "b"))
    shown: dict[str, Any] = {"a": one, "b": other, "fault": ""}
    if one and other:
        try:
            shown["found"] = compared(one, other)
        except NotRebuilt as error:
            shown["fault"] = f"One of the two states cannot be shown. {error}"
    elif typed(request, "a") or typed(request, "b"):
        shown["fault"] = "One of the two sessions does not exist in this project. Choose sessions from the lists."
    shown["sessions"] = list(counted(rows).order_by("-created_at", "-pk")[:OFFERED])
    for chosen in (one, other):
        if chosen and chosen.session.pk not in {each.pk for each in shown["sessions"]}:
            shown["sessions"].append(chosen.session)
    return render(request, "servers/compare.html", shown)


def side(rows: Any, text: str, at: str) -> Side | None:
    """The moment that an address names: `12:3`, or `12` with the moment in a field of its own."""
    named = sides(f"{text}:{at}" if at and ":" not in text else text)
    found = counted(rows).filter(pk=named[0]).first() if named else None
    if found is None or named is None:
        return None
    return Side(found, found.made if named[1] is None else min(named[1], found.made))
