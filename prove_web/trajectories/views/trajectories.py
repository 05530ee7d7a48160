"""Pages of trajectories: the list to search, refine and sort with saved views, a single trajectory, and a sample."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db.models import Max
from django.http import HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST, require_safe

from prove_web.accounts import saved_views
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits
from prove_web.live.models import State
from prove_web.query_language.completion import complete
from prove_web.query_language.query_string import parse_search
from prove_web.review.blinding import Blind

from ..detail_context import build_reading_context
from ..filters import TrajectoryFilter
from ..list_params import ALL, address
from ..listing import build_trajectory_lines, facets
from ..metadata import row_of
from ..page_links import links
from ..paging import SORTS, order_of, page_of
from ..prev_next import neighbours
from ..samples import SIZE, sample
from ..search import search
from ..search.fields import FIELDS
from ..search.values import VALUES
from ..stats import stats
from .lookup import one_of, one_trajectory

# Page of one trajectory.


@in_project(Action.VIEW)
@require_GET
def trajectory(request: Any, dataset: int, example: str) -> HttpResponse:
    found = one_trajectory(request.project, dataset, example)
    waiting = Blind(request.user, request.project)
    around = neighbours(request.GET, found, waiting)
    context = {"trajectory": found, "dataset": found.dataset, "row": row_of(found), "around": around}
    blind = waiting.get_hidden_since(found) is not None
    if found.parent and waiting.get_hidden_since(found.parent) is not None:
        found.parent = None  # an edit by others must not show before the user's own review
    context |= build_reading_context(found, blind=blind)
    context |= links(request, found, context["example"], blind=blind)
    return render(request, "trajectories/trajectory.html", context)


# Page of a random sample of a dataset: whole conversations, one after the other.

SEEDS = 1_000_000_000


@in_project(Action.VIEW)
@require_safe
def dataset_sample(request: ProjectRequest, dataset: int) -> HttpResponse:
    """Show a random sample; `?seed=` draws it, and the other fields are filters, as in the dataset's list."""
    found = one_of(request.project, dataset)
    newest = found.trajectories.aggregate(newest=Max("pk"))["newest"]
    if newest is None or found.loading_at or found.job.state != State.DONE:
        return redirect(found)
    narrowed = TrajectoryFilter(request.GET, dataset=found, blind=Blind(request.user, request.project))
    seed = parse_digits(request.GET.get("seed", "")) or 0
    sampled, count = sample(narrowed.qs, seed)
    typed = parse_search(request.GET)
    context = {
        "dataset": found,
        "difficulties": stats(found, newest).difficulties,
        "query": typed.strip(),
        "narrowed": narrowed.narrowed,
        "link": narrowed.address,
        "fault": narrowed.fault,
        "covered": narrowed.covered,
        "marked": narrowed.fault and narrowed.fault.split_query(typed),
        "sample": sampled,
        "count": count,
        "seed": seed,
        "another": build_next_sample_query(narrowed.address, seed) if count > SIZE else "",
    }
    return render(request, "trajectories/sample.html", context)


def build_next_sample_query(address: str, seed: int) -> str:
    """Return the query string of the next sample."""
    query = QueryDict(address, mutable=True)
    query["seed"] = str((seed + 1) % SEEDS)
    return query.urlencode()


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
    late = page.more  # many rows are counted while the user reads the first of them
    context = {
        "query": query,
        "fault": found.fault,
        "covered": found.covered,
        "marked": found.fault and found.fault.split_query(query),
        "narrowed": bool(query.strip()),
        "page": page,
        "lines": build_trajectory_lines(page, blind),
        "facets": () if found.fault or late else facets(request.project, found.rows, query, blind),
        "late": late,
        "order": order.name,
        "sorts": SORTS,
        "address": address(request.GET),
        "link": address(request.GET, **ALL),
        "sought": address(request.GET),
        "params": {"q": query, "sort": request.GET.get("sort", "")},
        "views": saved_views.views_of(request.project, PAGE),
        "any": bool(page.rows) or request.project.datasets.exists(),
    }
    return render(request, "trajectories/trajectories.html", context)


@in_project(Action.VIEW)
@require_GET
def trajectory_completion(request: Any) -> HttpResponse:
    """Return the completions at a position of a query, as JSON."""
    query, at = parse_search(request.GET)[:MOST_TYPED], request.GET.get("at", "")
    place = int(at) if at.isascii() and at.isdecimal() and len(at) < 6 else len(query)
    return JsonResponse(asdict(complete(request.project, query, place, FIELDS, VALUES.get)))


@in_project(Action.ANNOTATE)
@require_POST
def trajectory_views(request: Any) -> HttpResponse:
    """Save a search under a name."""
    query = address(request.POST)
    saved_views.save_submitted_view(request, PAGE, query)
    return redirect(f"{reverse('trajectories', args=request.project.path)}?{query}".removesuffix("?"))


@in_project(Action.ANNOTATE)
@require_POST
def trajectory_view(request: Any, view: int) -> HttpResponse:
    """Rename or delete a saved view."""
    saved = saved_views.change(request, PAGE, view)
    return redirect(f"{reverse('trajectories', args=request.project.path)}?{saved.query}".removesuffix("?"))
