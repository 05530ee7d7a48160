"""The rollouts of a step, group by group; and one rollout with its conversation and where its reward came from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.trajectories.anatomy import anatomy
from prove_web.trajectories.breakdown import components, parts_of
from prove_web.trajectories.conversation import of_rollout
from training_worker.prove.trajectory import Example, Rollout, dumps

from .detail import run_of
from .ledger import ledger
from .models import Run
from .rollouts import Group, Member, NoRollouts, examples_of, groups_of, rollout_of, truth
from .scored import said, scored_at

SORTS = {
    "asked": "As asked",
    "spread": "Widest spread first",
    "best": "Best first",
    "worst": "Worst first",
}


@in_project(Action.VIEW)
@require_safe
def rollouts(request: ProjectRequest, run: int, step: int) -> HttpResponse:
    found = run_of(request.project, run)
    context: dict[str, Any] = {"run": found, "step": step, "around": neighbours(found, step), "sorts": SORTS}
    context["scored_by"] = said(found.config.get("reward"))
    try:
        groups = groups_of(found, step)
    except NoRollouts as error:
        return render(request, "experiments/rollouts.html", context | {"why": str(error)}, status=404)
    sort, only = request.GET.get("sort", "asked"), request.GET.get("only") == "signal"
    known = examples_of(found, [group.name for group in groups])
    shown = [group for group in ordered(groups, sort) if not (only and group.silent)]
    context |= {
        "groups": [replace(group, example=known.get(group.name)) for group in shown],
        "summary": summary(groups),
        "sort": sort if sort in SORTS else "asked",
        "only": only,
        "scale": found.config.get("scale_rewards", "none"),
    }
    return render(request, "experiments/rollouts.html", context)


def ordered(groups: list[Group], sort: str) -> list[Group]:
    match sort:
        case "spread":
            return sorted(groups, key=lambda group: -group.spread)
        case "best":
            return sorted(groups, key=lambda group: -group.mean)
        case "worst":
            return sorted(groups, key=lambda group: group.mean)
    return groups


def summary(groups: list[Group]) -> dict[str, Any]:
    scored = [group for group in groups if not group.void]
    rewards = [reward for group in scored for reward in group.rewards]
    silent = sum(group.silent for group in scored)
    return {
        "rollouts": sum(len(group.members) for group in groups),
        "groups": len(groups),
        "void": len(groups) - len(scored),
        "scored": len(scored),
        "silent": silent,
        "silent_share": silent / len(scored) if scored else None,
        "mean": sum(rewards) / len(rewards) if rewards else None,
        "spread": sum(group.spread for group in scored) / len(scored) if scored else None,
    }


def neighbours(run: Run, step: int) -> list[tuple[str, int | None, str]]:
    """The steps before and after this one, as links have them."""
    steps = run.points.order_by("step").values_list("step", flat=True)
    return [
        ("prev", steps.filter(step__lt=step).last(), "Previous"),
        ("next", steps.filter(step__gt=step).first(), "Next"),
    ]


@in_project(Action.VIEW)
@require_safe
def rollout(request: ProjectRequest, run: int, step: int, index: int) -> HttpResponse:
    found = run_of(request.project, run)
    try:
        groups = groups_of(found, step)
        group, member = place_of(groups, index)
        whole = rollout_of(found, step, index)
    except NoRollouts as error:
        context = {"run": found, "step": step, "why": str(error), "around": neighbours(found, step)}
        return render(request, "experiments/rollouts.html", context, status=404)
    assert whole is not None  # its summary is there
    example = examples_of(found, [group.name]).get(group.name)
    context = {
        "run": found,
        "step": step,
        "group": group,
        "member": member,
        "rollout": whole,
        "example": example,
        **taken_apart(found, step, whole, example),
        "what_if": reverse("rollout-what-if", args=[*request.project.path, run, step, index]) if example else "",
        "steps": truth(example, whole) if example else [],
        "raw": dumps(whole),
        "opens": opens(request, example, run, step, index),
        **earned(found, step, whole, example),
        "count": sum(len(each.members) for each in groups),
    }
    return render(request, "experiments/rollout.html", context)


def taken_apart(run: Run, step: int, rollout: Rollout, example: Example | None) -> dict[str, Any]:
    """The conversation with all that is known of its calls; nothing without the example."""
    if example is None:
        return {"turns": []}
    known = anatomy(of_rollout(rollout, example), rollout, example, scored_at(run, step))
    return {"turns": known.turns, "anatomy": known}


def opens(request: ProjectRequest, example: Example | None, *where: int) -> str:
    """Where a call is opened as a live session; empty where it cannot be, or not by this person."""
    may = request.role.covers(Action.ANNOTATE) and example is not None and not example.source
    return reverse("rollout-session", args=[*request.project.path, *where]) if may else ""


def earned(run: Run, step: int, rollout: Rollout, example: Example | None) -> dict[str, Any]:
    """Where the reward came from: by call where the paper's form says so, and by part where there is more to it."""
    config, reward = scored_at(run, step), rollout.reward
    context: dict[str, Any] = {
        "most": config.largest,
        "scored_by": said(run.config.get("reward")),
        "ledger": ledger(rollout, example, config),
    }
    if reward is None or reward.abstention:
        return context
    context |= {"parts": parts_of(reward, config), "table": not config.plain}
    if reward.form != "paper":
        context["beside"] = components(reward)
    return context


def place_of(groups: list[Group], index: int) -> tuple[Group, Member]:
    for group in groups:
        for member in group.members:
            if member.index == index:
                return group, member
    raise Http404(f"This step has no rollout {index}.")
