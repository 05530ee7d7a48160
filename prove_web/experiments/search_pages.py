"""The rollouts of a run over all steps: those that a query finds, and those of one conversation, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .detail import run_of
from .models import RolloutGroup, Run
from .rollouts import Group, Member, examples_of
from .search import Hit, Query, hits, members

ROWS = 50
STEPS = 100
ORDERS = {"step": "By step", "-step": "Newest first", "reward": "Worst first", "-reward": "Best first"}
HINTS = ("reward<0.5", "end:tokens", "failed>0", "calls=0")


@in_project(Action.VIEW)
@require_safe
def found_rollouts(request: ProjectRequest, run: int) -> HttpResponse:
    found, text = run_of(request.project, run), request.GET.get("q", "").strip()
    query, order = Query.of(text), request.GET.get("order", "step")
    told = [] if query.strange else ordered(hits(found, query), order)
    rewards = [hit.reward for hit in told if hit.reward is not None]
    context: dict[str, Any] = {
        "run": found,
        "q": text,
        "query": query,
        "page": Paginator(told, ROWS).get_page(request.GET.get("page")),
        "count": len(told),
        "steps": len({hit.step for hit in told}),
        "mean": fmean(rewards) if rewards else None,
        "orders": ORDERS,
        "order": order if order in ORDERS else "step",
        "hints": HINTS,
        "indexed": found.groups.exists(),
    }
    return render(request, "experiments/found.html", context, status=422 if query.strange else 200)


def ordered(found: list[Hit], order: str) -> list[Hit]:
    """Rollouts without a reward come last either way."""
    if order == "-step":
        return sorted(found, key=lambda hit: (-hit.step, hit.index))
    if order in ("reward", "-reward"):
        sign = -1 if order == "-reward" else 1
        return sorted(found, key=lambda hit: (hit.reward is None, sign * (hit.reward or 0), hit.step, hit.index))
    return found


@in_project(Action.VIEW)
@require_safe
def over_the_run(request: ProjectRequest, run: int, example: str) -> HttpResponse:
    found = run_of(request.project, run)
    page = Paginator(found.groups.filter(example=example), STEPS).get_page(request.GET.get("page"))
    groups = [(row.step, group_of(row)) for row in page]
    known = examples_of(found, [example]).get(example)
    context = {"run": found, "name": example, "example": known, "page": page, "groups": groups}
    return render(request, "experiments/over_the_run.html", context | rise(found, example))


def group_of(row: RolloutGroup) -> Group:
    """A group of the index as the pages show groups."""
    found = (Member(hit.index, place, hit.reward, hit.advantage, hit.end) for place, hit in enumerate(members(row), 1))
    return Group(row.number, row.example, tuple(found))


def rise(run: Run, example: str) -> dict[str, Any]:
    """The mean reward of the first group of a conversation, and of its last."""
    means: Sequence[float] = run.groups.filter(example=example, mean__isnull=False).values_list("mean", flat=True)
    means = list(means)
    return {"first": means[0], "last": means[-1], "change": means[-1] - means[0]} if len(means) > 1 else {}
