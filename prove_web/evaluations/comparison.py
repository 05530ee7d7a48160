"""Comparison of two evaluations of one benchmark, and of their conversations for one item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.divergence import find_divergence
from prove_web.trajectories.call_badges import Chip
from prove_web.trajectories.conversation import CallCard, Turn, of_rollout
from training_worker.core.trajectory import ToolCall
from training_worker.evaluation.compare import NotComparable, require_comparable
from training_worker.evaluation.protocol import Result

from .item_page import item_at, neighbours
from .models import Evaluation, EvaluationItem
from .paired_comparison import Comparison, build_paired_comparison, rows_of
from .querysets import choices, evaluation_of, identity_of
from .reports import categories_of, title_of
from .storage import NoConversation, result_of

DIFFERS = Chip("First difference", "warn", "The first call that differs between the two conversations")


@in_project(Action.VIEW)
@require_safe
def evaluation_compare(request: ProjectRequest, evaluation: int) -> HttpResponse:
    """Compare with the evaluation of number `?with=`, which counts as before; without it show the choices."""
    second = evaluation_of(request.project, evaluation)
    context: dict[str, Any] = {"evaluation": second, "title": title_of(second.benchmark), "choices": choices(second)}
    number = request.GET.get("with", "")
    if not number:
        return render(request, "evaluations/compare.html", context)
    if not number.isdecimal() or len(number) > 9:
        raise Http404("`with` takes the number of an evaluation.")
    first = evaluation_of(request.project, int(number))
    context["other"] = first
    try:
        context["found"] = comparison_of(first, second)
    except NotComparable as why:
        context["why"] = str(why)
    return render(request, "evaluations/compare.html", context)


def comparison_of(first: Evaluation, second: Evaluation) -> Comparison:
    """Return the comparison. Raises NotComparable."""
    if first.pk == second.pk:
        raise NotComparable("An evaluation cannot be compared with itself. Choose another one.")
    require_comparable(identity_of(first), identity_of(second))
    return build_paired_comparison(rows_of(first), rows_of(second), categories_of(second.benchmark))


@in_project(Action.VIEW)
@require_safe
def evaluation_beside(request: ProjectRequest, evaluation: int, twin: int, line: int) -> HttpResponse:
    """Show an item of an evaluation next to the same item of another, which counts as before."""
    second, first = evaluation_of(request.project, evaluation), evaluation_of(request.project, twin)
    row = item_at(second, line)
    earlier = first.items.filter(item=row.item).first() if first.benchmark == second.benchmark else None
    if earlier is None:
        raise Http404(f"Evaluation {twin} has not run this item.")
    earlier.evaluation = first
    results = [read(one) for one in (earlier, row)]
    sides = [side(one, result, key) for one, result, key in zip((earlier, row), results, ("a-", "b-"), strict=True)]
    at = find_call_divergence(*(result.rollout.calls if isinstance(result, Result) else () for result in results))
    if all(isinstance(result, Result) for result in results):
        sides = [{**one, "turns": mark_differing_call(one["turns"], at)} for one in sides]
    context = {"evaluation": second, "other": first, "item": row, "sides": sides, "parting": at}
    return render(request, "evaluations/beside.html", context | find_flipped_neighbours(first, second, row))


def read(row: EvaluationItem) -> Result | str:
    """Return the item's result, or why it cannot be read."""
    try:
        return result_of(row)
    except NoConversation as why:
        return str(why)


def side(row: EvaluationItem, result: Result | str, key: str) -> dict[str, Any]:
    context = {"item": row, "evaluation": row.evaluation, "key": key}
    if isinstance(result, str):
        return {**context, "why": result, "turns": []}
    turns = [
        replace(turn, calls=tuple(replace(call, side=key) for call in turn.calls))
        for turn in of_rollout(result.rollout)
    ]
    return {**context, "result": result, "turns": turns}


def find_call_divergence(first: Sequence[Any], second: Sequence[Any]) -> int | None:
    """Return the index of the first differing or missing call; None where all are equal."""
    return find_divergence([get_call_key(one.call) for one in first], [get_call_key(one.call) for one in second])


def get_call_key(call: ToolCall) -> tuple[str, Any]:
    return call.name, call.arguments


def mark_differing_call(turns: Sequence[Turn], at: int | None) -> list[Turn]:
    """Return the turns with the call at this position marked."""

    def mark(call: CallCard) -> CallCard:
        return replace(call, chips=(DIFFERS, *call.chips)) if call.position == at else call

    return [replace(turn, calls=tuple(map(mark, turn.calls))) for turn in turns] if at is not None else list(turns)


def find_flipped_neighbours(first: Evaluation, second: Evaluation, row: EvaluationItem) -> dict[str, Any]:
    """Return the previous and next flipped items by their lines."""
    sides = [dict(one.items.values_list("item", "value")) for one in (first, second)]
    lines = [
        line
        for item, line in second.items.order_by("category", "id").values_list("item", "line")
        if item in sides[0] and sides[0][item] != sides[1][item]
    ]
    return neighbours(lines, row.line)
