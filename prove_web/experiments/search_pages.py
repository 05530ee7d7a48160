"""Pages of a run's rollouts over all steps: search results, and one conversation step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.environment.outcomes import OF_CALLS

from .detail import run_of
from .groups import Group, Member
from .models import RolloutGroup, Run
from .reward_config import compute_max_reward
from .rollouts import examples_of
from .search import Query, SearchResults

ROWS = 50
STEPS = 100
ORDERS = {"step": "By step", "-step": "Newest first", "reward": "Worst first", "-reward": "Best first"}
HINTS = ("reward<0.5", "end:tokens", "failed>0", "calls=0", "outcome:state")


@in_project(Action.VIEW)
@require_safe
def search_rollouts(request: ProjectRequest, run: int) -> HttpResponse:
    found, text = run_of(request.project, run), request.GET.get("q", "").strip()
    query, order = Query.parse_text(text), request.GET.get("order", "step")
    results = SearchResults(found, query, order) if not query.strange else []
    context: dict[str, Any] = {
        "run": found,
        "q": text,
        "query": query,
        "page": Paginator(results, ROWS).get_page(request.GET.get("page")),
        "results": results,
        "orders": ORDERS,
        "order": order if order in ORDERS else "step",
        "hints": HINTS,
        "outcomes": OF_CALLS,
        "indexed": found.groups.exists(),
    }
    return render(request, "experiments/found.html", context, status=422 if query.strange else 200)


@in_project(Action.VIEW)
@require_safe
def over_the_run(request: ProjectRequest, run: int, example: str) -> HttpResponse:
    found = run_of(request.project, run)
    page = Paginator(found.groups.filter(example=example), STEPS).get_page(request.GET.get("page"))
    most = compute_max_reward(found)
    groups = [(row.step, group_of(row, most)) for row in page]
    known = examples_of(found, [example]).get(example)
    context = {"run": found, "name": example, "example": known, "page": page, "groups": groups}
    return render(request, "experiments/over_the_run.html", context | compute_reward_change(found, example))


def group_of(row: RolloutGroup, most: float) -> Group:
    """Build a group for pages from its index row."""
    columns = row.rollouts
    lists = zip(columns["reward"], columns["advantage"], columns["end"], strict=True)
    found = (Member(row.first + place, place + 1, *each) for place, each in enumerate(lists))
    return Group(row.number, row.example, tuple(found), most)


def compute_reward_change(run: Run, example: str) -> dict[str, Any]:
    """Return the mean rewards of a conversation's first and last group, and their difference."""
    means: Sequence[float] = run.groups.filter(example=example, mean__isnull=False).values_list("mean", flat=True)
    means = list(means)
    return {"first": means[0], "last": means[-1], "change": means[-1] - means[0]} if len(means) > 1 else {}
