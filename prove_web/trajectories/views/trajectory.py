"""The page of one trajectory with all that is known of it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from prove_web.accounts.permissions import Action, in_project
from prove_web.review.blinding import Blind

from ..detail_context import reading
from ..linked import links
from ..metadata import row_of
from ..prev_next import neighbours
from .finding import one_trajectory


@in_project(Action.VIEW)
@require_GET
def trajectory(request: Any, dataset: int, example: str) -> HttpResponse:
    found = one_trajectory(request.project, dataset, example)
    waiting = Blind(request.user, request.project)
    around = neighbours(request.GET, found, waiting)
    context = {"trajectory": found, "dataset": found.dataset, "row": row_of(found), "around": around}
    blind = waiting.since(found) is not None
    if found.parent and waiting.since(found.parent) is not None:
        found.parent = None  # that somebody mended it is not told before one's own review
    context |= reading(found, blind=blind)
    context |= links(request, found, context["example"], blind=blind)
    return render(request, "trajectories/trajectory.html", context)
