"""The page of one rollout: its conversation and its reward breakdown."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.trajectories.breakdown import components, parts_of
from prove_web.trajectories.conversation import of_rollout
from prove_web.trajectories.detail import anatomy
from training_worker.core.trajectory import Example, Rollout, dumps
from training_worker.store.query import StepTable

from .credit import ledger
from .detail import run_of
from .groups import Group, Member
from .models import Run, RunKind
from .reward_config import compute_max_reward, describe_reward, scored_at
from .rollouts import NoRollouts, examples_of, groups_in, rollout_of, table_of, truth


def neighbours(run: Run, step: int) -> list[tuple[str, int | None, str]]:
    """Return links to the previous and next step; for external runs only steps with rollouts."""
    steps = (
        (run.stored_steps if run.kind == RunKind.OUTSIDE else run.points)
        .order_by("step")
        .values_list("step", flat=True)
    )
    return [
        ("prev", steps.filter(step__lt=step).last(), "Previous"),
        ("next", steps.filter(step__gt=step).first(), "Next"),
    ]


@in_project(Action.VIEW)
@require_safe
def rollout(request: ProjectRequest, run: int, step: int, index: int) -> HttpResponse:
    found = run_of(request.project, run)
    try:
        table = table_of(found, step)
        group, member = place_of(table, found, index)
        record = rollout_of(found, step, index)
    except NoRollouts as error:
        context = {"run": found, "step": step, "why": str(error), "around": neighbours(found, step)}
        return render(request, "experiments/rollouts.html", context, status=404)
    assert record is not None  # guaranteed by the table row
    example = examples_of(found, [group.name]).get(group.name)
    context = {
        "run": found,
        "step": step,
        "group": group,
        "member": member,
        "rollout": record,
        "example": example,
        **taken_apart(found, step, record, example),
        "what_if": reverse("rollout-what-if", args=[*request.project.path, run, step, index]) if example else "",
        "steps": truth(example, record) if example else [],
        "raw": dumps(record),
        "opens": opens(request, example, run, step, index),
        **build_reward_context(found, step, record, example),
        "count": len(table),
    }
    return render(request, "experiments/rollout.html", context)


def taken_apart(run: Run, step: int, rollout: Rollout, example: Example | None) -> dict[str, Any]:
    """Return the conversation with all details of its calls; empty if the example was deleted."""
    if example is None:
        return {"turns": of_rollout(rollout) if run.kind == RunKind.OUTSIDE else []}
    known = anatomy(of_rollout(rollout, example), rollout, example, scored_at(run, step))
    return {"turns": known.turns, "anatomy": known}


def opens(request: ProjectRequest, example: Example | None, *where: int) -> str:
    """Return the URL that opens a call as a live session; empty if impossible or not permitted."""
    may = request.role.covers(Action.ANNOTATE) and example is not None and not example.source
    return reverse("rollout-session", args=[*request.project.path, *where]) if may else ""


def build_reward_context(run: Run, step: int, rollout: Rollout, example: Example | None) -> dict[str, Any]:
    """Return the reward breakdown: by call for the paper's form, otherwise by component."""
    if run.kind == RunKind.OUTSIDE:
        return {"most": compute_max_reward(run), "own": rollout.reward.terms if rollout.reward else {}}
    config, reward = scored_at(run, step), rollout.reward
    context: dict[str, Any] = {
        "most": config.largest,
        "scored_by": describe_reward(run.config.get("reward")),
        "ledger": ledger(rollout, example, config),
    }
    if reward is None or reward.abstention:
        return context
    context |= {"parts": parts_of(reward, config), "table": not config.plain}
    if reward.form != "paper":
        context["beside"] = components(reward)
    return context


def place_of(table: StepTable, run: Run, index: int) -> tuple[Group, Member]:
    """Return a rollout of a step, and its group. Raises Http404."""
    if not 0 < index <= len(table):
        raise Http404(f"This step has no rollout {index}.")
    [group] = groups_in(table.of_groups([table.column("group")[index - 1]]), run)
    return group, next(member for member in group.members if member.index == index)
