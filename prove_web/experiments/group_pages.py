"""The page of a group in a step: its rollouts, their call tree, and two of them compared call by call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.core.trajectory import Rollout
from training_worker.store.record import COMPONENTS

from .call_tree import looked_at
from .detail import run_of
from .groups import EQUAL, Group
from .models import Run
from .rollouts import NoRollouts, examples_of, groups_in, rollouts_of, table_of

PARTS = {"members": "group_members", "": "group"}


@in_project(Action.VIEW)
@require_safe
def group(request: ProjectRequest, run: int, step: int, group: int) -> HttpResponse:
    """Show a group.

    `by=tool` merges calls by tool alone, `node` keeps only the rollouts through one call, and two `pair` parameters
    select the rollouts to compare. `part=members` is the table of rollouts alone.
    """
    found = run_of(request.project, run)
    context: dict[str, Any] = {"run": found, "step": step, "number": group}
    try:
        one, records, numbers = load_group(found, step, group)
    except NoRollouts as error:
        return render(request, "experiments/group.html", context | {"why": str(error)}, status=404)
    here = numbers.index(group)
    context |= looked_at(request.GET, one, records)
    context |= {
        "around": [("prev", numbers[here - 1] if here else None), ("next", (*numbers, None)[here + 1])],
        "components": COMPONENTS,
        "winners": sum(member.reward > one.mean + EQUAL for member in one.members if member.reward is not None),
        "losers": sum(member.reward < one.mean - EQUAL for member in one.members if member.reward is not None),
    }
    return render(request, f"experiments/{PARTS.get(request.GET.get('part', ''), 'group')}.html", context)


def load_group(run: Run, step: int, number: int) -> tuple[Group, list[Rollout], list[int]]:
    """Load a group with its rollouts, and the numbers of all groups of the step. Raises NoRollouts, Http404."""
    table = table_of(run, step)
    numbers = list(dict.fromkeys(table.column("group")))
    if number not in numbers:
        raise Http404(f"Step {step} has no group {number}.")
    [one] = groups_in(table.of_groups([number]), run)
    records = rollouts_of(run, step, one)
    return replace(one, example=examples_of(run, [one.name]).get(one.name)), list(records), numbers
