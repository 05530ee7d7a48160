"""The page of all trials of one task: table, call tree, and a call-by-call comparison of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.experiments.call_tree import looked_at
from prove_web.experiments.groups import Group, Member
from training_worker.core.trajectory import Rollout
from training_worker.evaluation.protocol import task_of

from .item_page import item_at, trials
from .models import EvaluationItem
from .querysets import evaluation_of
from .reports import title_of
from .storage import NoConversation, result_of


@dataclass(frozen=True)
class Trial:
    """One trial: its row, and its member of the group, with the score (0 to 1) as `reward`."""

    row: EvaluationItem
    member: Member


@in_project(Action.VIEW)
@require_safe
def evaluation_trials(request: ProjectRequest, evaluation: int, line: int) -> HttpResponse:
    """Show all trials of the task at `line`, which counts from 0.

    `by=tool` merges calls by tool alone, `node` keeps only the trials through one call, and two `pair` parameters
    select the trials to compare; `part=members` is the table of trials alone.
    """
    found = evaluation_of(request.project, evaluation)
    row = item_at(found, line)
    rows = trials(row) or [row]
    for one in rows:
        one.evaluation = found
    context: dict[str, Any] = {
        "evaluation": found,
        "item": row,
        "task": task_of(row.item),
        "title": title_of(found.benchmark),
        "rows": rows,
    }
    try:
        rollouts = [result_of(one).rollout for one in rows]
    except NoConversation as why:
        return render(request, "evaluations/trials.html", context | {"why": str(why)})
    context |= looked_at(request.GET, group_of(rows, rollouts), rollouts)
    context |= {
        "trials": [Trial(rows[member.place - 1], member) for member in context["members"]],
        "ends": [Trial(rows[member.place - 1], member) for member in context["pair"].ends] if context["pair"] else [],
        "passed": sum(one.passed for one in rows),
    }
    part = "trial_members" if request.GET.get("part") == "members" else "trials"
    return render(request, f"evaluations/{part}.html", context)


def group_of(rows: Sequence[EvaluationItem], rollouts: Sequence[Rollout]) -> Group:
    """Return the trials as a rollout group; the difference from the mean score serves as advantage."""
    mean = fmean(row.value for row in rows)
    members = (
        Member(index=at, place=at, reward=row.value, advantage=row.value - mean, end=rollout.end, success=row.passed)
        for at, (row, rollout) in enumerate(zip(rows, rollouts, strict=True), 1)
    )
    return Group(1, task_of(rows[0].item), tuple(members), top=1.0)
