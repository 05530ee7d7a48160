"""The page of all trajectories of a project: search, refine, sort, and keep what was asked as a view for the team."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from prove_web.accounts import saved_views
from prove_web.accounts.permissions import Action, in_project
from prove_web.review.blinding import Blind

from ..list_params import ALL, address, parse_search
from ..listing import facets, lines
from ..paging import SORTS, order_of, page_of
from ..search import search
from ..search.completing import complete

USUAL = "-made"
PAGE = "trajectories"
MOST_TYPED = 1_100


@in_project(Action.VIEW)
@require_GET
def trajectories(request: Any) -> HttpResponse:
    query, blind = parse_search(request.GET), Blind(request.user, request.project)
    found = search(request.project, query, blind=blind)
    order = order_of(request.GET, USUAL, blind)
    if request.GET.get("part") == "facets":
        counted = () if found.fault else facets(request.project, found.rows, query, blind)
        return render(request, "trajectories/facets.html", {"facets": counted})
    page = page_of(request.project, found.rows, request.GET, order)
    late = page.more  # many are counted while people look at the first of them
    context = {
        "query": query,
        "fault": found.fault,
        "covered": found.covered,
        "marked": found.fault and found.fault.around(query),
        "narrowed": bool(query.strip()),
        "page": page,
        "lines": lines(page, blind),
        "facets": () if found.fault or late else facets(request.project, found.rows, query, blind),
        "late": late,
        "order": order.name,
        "sorts": SORTS,
        "address": address(request.GET),
        "link": address(request.GET, **ALL),
        "sought": address(request.GET),
        "asked": {"q": query, "sort": request.GET.get("sort", "")},
        "views": saved_views.views_of(request.project, PAGE),
        "any": bool(page.rows) or request.project.datasets.exists(),
    }
    return render(request, "trajectories/trajectories.html", context)


@in_project(Action.VIEW)
@require_GET
def trajectory_completion(request: Any) -> HttpResponse:
    """What may stand at a place of a query, as JSON."""
    query, at = parse_search(request.GET)[:MOST_TYPED], request.GET.get("at", "")
    place = int(at) if at.isascii() and at.isdecimal() and len(at) < 6 else len(query)
    return JsonResponse(asdict(complete(request.project, query, place)))


@in_project(Action.ANNOTATE)
@require_POST
def trajectory_views(request: Any) -> HttpResponse:
    """Keep a search under a name."""
    query = address(request.POST)
    saved_views.keep(request, PAGE, query)
    return redirect(f"{reverse('trajectories', args=request.project.path)}?{query}".removesuffix("?"))


@in_project(Action.ANNOTATE)
@require_POST
def trajectory_view(request: Any, view: int) -> HttpResponse:
    """Rename a view, or remove it."""
    kept = saved_views.change(request, PAGE, view)
    return redirect(f"{reverse('trajectories', args=request.project.path)}?{kept.query}".removesuffix("?"))
