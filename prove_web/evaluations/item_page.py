"""The page of one evaluation item: conversation, verdict, cost, and the same item in other evaluations."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.trajectories.conversation import of_rollout
from training_worker.core.trajectory import dumps
from training_worker.evaluation.protocol import task_of

from .items import build_item_filter
from .models import Evaluation, EvaluationItem
from .querysets import evaluation_of, list_other_evaluations, why_not
from .reports import title_of
from .storage import NoConversation, result_of

MOST_ELSEWHERE = 20


def item_at(evaluation: Evaluation, line: int) -> EvaluationItem:
    found: EvaluationItem | None = evaluation.items.filter(line=line).first()
    if found is None:
        raise Http404(f"Evaluation {evaluation.number} has no item at line {line}.")
    found.evaluation = evaluation
    return found


@in_project(Action.VIEW)
@require_safe
def evaluation_item(request: ProjectRequest, evaluation: int, line: int) -> HttpResponse:
    """Show an item; `line` counts from 0. The query filters and sorts the items that previous and next step through."""
    found = evaluation_of(request.project, evaluation)
    row = item_at(found, line)
    narrowed = build_item_filter(found, request.GET)
    context: dict[str, Any] = {
        "evaluation": found,
        "item": row,
        "title": title_of(found.benchmark),
        "filter": narrowed,
        **neighbours(list(narrowed.ordered.values_list("line", flat=True)), line),
        "trials": trials(row),
        "elsewhere": list_counterpart_items(row),
    }
    try:
        result = result_of(row)
    except NoConversation as why:
        return render(request, "evaluations/item.html", context | {"why": str(why)})
    context |= {"result": result, "turns": of_rollout(result.rollout), "raw": dumps(result)}
    return render(request, "evaluations/item.html", context)


def neighbours(lines: list[int], line: int) -> dict[str, Any]:
    """Return the previous and next line, the position from 1 (None if missing) and the count."""
    at = lines.index(line) if line in lines else None
    return {
        "earlier": lines[at - 1] if at else None,
        "later": lines[at + 1] if at is not None and at + 1 < len(lines) else None,
        "place": None if at is None else at + 1,
        "count": len(lines),
    }


def trials(row: EvaluationItem) -> list[EvaluationItem]:
    """Return all trials of the item's task if there are several."""
    task = task_of(row.item)
    near = row.evaluation.items.filter(item__startswith=task)
    found = sorted((one for one in near if task_of(one.item) == task), key=lambda one: (len(one.item), one.item))
    return found if len(found) > 1 else []


def list_counterpart_items(row: EvaluationItem) -> list[EvaluationItem]:
    """Return the same item in other comparable evaluations, newest first."""
    comparable = [one for one in list_other_evaluations(row.evaluation) if not why_not(one, row.evaluation)]
    by_key = {one.pk: one for one in comparable}
    found = list(EvaluationItem.objects.filter(evaluation__in=by_key, item=row.item).order_by("-evaluation__number"))
    for one in found:
        one.evaluation = by_key[one.evaluation_id]
    return found[:MOST_ELSEWHERE]
