"""Pages that compare the behaviour of two policies: the list of conversations, and one conversation side by side."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.evaluations.comparison import mark_differing_call
from prove_web.evaluations.models import Evaluation
from prove_web.evaluations.querysets import why_not
from prove_web.experiments.rollouts import examples_of
from prove_web.live.models import State
from prove_web.trajectories.conversation import of_rollout

from .behaviour import KINDS, LENGTHS, Filter, Pair, pairs
from .eval_rollouts import RolloutsUnavailable, rollout_at
from .sources import Side, list_source_choices, require_alike, side_of

ROWS = 50
BENCHMARK = "worlds"  # suggested benchmark where the runs' own rollouts cannot be read


@in_project(Action.VIEW)
@require_safe
def run_behaviour(request: ProjectRequest) -> HttpResponse:
    """Show the list of conversations.

    `?a=run-3&b=run-7` names the two sides; `kind`, `tool`, `length`, `apart=1` and `page` narrow the list.
    """
    names = [request.GET.get(name, "") for name in ("a", "b")]
    context: dict[str, Any] = {"offered": list_source_choices(request.project), "names": names}
    if not all(names):
        return render(request, "comparisons/behaviour.html", context)
    first, second = (side_of(request.project, name) for name in names)
    context |= {"first": first, "second": second}
    try:
        require_alike(first, second)
        found = pairs(first.attempts(), second.attempts())
    except RolloutsUnavailable as why:
        context |= {"why": str(why), **list_alternatives(request.project, first, second)}
        return render(request, "comparisons/behaviour.html", context)
    return render(request, "comparisons/behaviour.html", context | build_list_context(found, request.GET))


def parse_filter(query: QueryDict) -> Filter:
    kind, length = query.get("kind", ""), query.get("length", "")
    return Filter(
        kind if kind in (*KINDS, "flipped") else "",
        query.get("tool", "")[:200],
        length if length in LENGTHS else "",
        query.get("apart") == "1",
    )


def build_list_context(found: list[Pair], query: QueryDict) -> dict[str, Any]:
    only = parse_filter(query)
    counts = Counter(pair.kind for pair in found)
    tools = Counter(tool for pair in found for tool in pair.tools)
    return {
        "all": len(found),
        "counts": [(kind, title, counts[kind]) for kind, title in KINDS.items()],
        "apart": sum(pair.parting is not None for pair in found),
        "only": only,
        "narrowed": only != Filter(),
        "tools": sorted(tools),
        "lengths": LENGTHS,
        "page": Paginator(only(found), ROWS).get_page(query.get("page")),
    }


def list_alternatives(project: Project, first: Side, second: Side) -> dict[str, Any]:
    """Return alternatives for two unreadable runs: comparable evaluations, newest first, and links to launch two."""
    if first.run is None or second.run is None:
        return {}
    rows = Evaluation.objects.filter(run__in=[first.run.pk, second.run.pk], job__state=State.DONE).select_related("run")
    by_run = [[one for one in rows if one.run_id == side.run.pk] for side in (first, second) if side.run]
    ready = [
        (f"{one.name} and {other.name}", f"?a=evaluation-{one.number}&b=evaluation-{other.number}")
        for one in by_run[0]
        for other in by_run[1]
        if one != other and one.benchmark == other.benchmark and not why_not(one, other)
    ]
    new = reverse("evaluation-new", args=[*project.path])
    launch = [
        (side.run.number, f"{new}?benchmark={BENCHMARK}&run={side.run.number}&checkpoint=last")
        for side in (first, second)
        if side.run
    ]
    return {"ready": ready[:5], "launch": list(dict.fromkeys(launch))}


@in_project(Action.VIEW)
@require_safe
def run_beside(request: ProjectRequest) -> HttpResponse:
    """Show one held-out conversation of two runs (`?a=run-3&b=run-7&item=`); without an item, redirect to the list."""
    if not request.GET.get("item"):
        return redirect(f"{reverse('run-behaviour', args=[*request.project.path])}?{request.GET.urlencode()}")
    first, second = (side_of(request.project, request.GET.get(name, "")) for name in ("a", "b"))
    context: dict[str, Any] = {"first": first, "second": second, "item": request.GET.get("item", "")}
    if first.run is None or second.run is None:
        raise Http404("Compare evaluation items on the pages of evaluations.")
    try:
        found = parse_filter(request.GET)(pairs(first.attempts(), second.attempts()))
        at = next((at for at, pair in enumerate(found) if pair.first.key == context["item"]), None)
        if at is None:
            raise Http404("The two do not share this conversation.")
        pair = found[at]
        sides = [build_side_context(first, pair, "a-"), build_side_context(second, pair, "b-")]
    except RolloutsUnavailable as why:
        return render(request, "comparisons/beside.html", context | {"why": str(why)})
    context |= {"pair": pair, "sides": sides, "place": at + 1, "count": len(found)}
    context |= {"earlier": found[at - 1].first.key if at else "", "later": key_after(found, at)}
    return render(request, "comparisons/beside.html", context)


def key_after(found: list[Pair], at: int) -> str:
    return found[at + 1].first.key if at + 1 < len(found) else ""


def build_side_context(side: Side, pair: Pair, key: str) -> dict[str, Any]:
    """Return the context of one side, with the first differing call marked. Raises RolloutsUnavailable."""
    assert side.run is not None
    one = pair.first if key == "a-" else pair.second
    rollout = rollout_at(side.run, side.when, "greedy", one.line)
    example = examples_of(side.run, [one.key]).get(one.key)
    turns = [
        replace(turn, calls=tuple(replace(call, side=key) for call in turn.calls))
        for turn in of_rollout(rollout, example)
    ]
    return {
        "side": side,
        "key": key,
        "attempt": one,
        "rollout": rollout,
        "turns": mark_differing_call(turns, pair.parting),
    }
