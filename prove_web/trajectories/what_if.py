"""Reward replay: the reward of a trajectory if a call is removed or replaced; nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.review.blinding import blind_since
from training_worker.core.trajectory import Example, Reward, Rollout, ToolCall, UnreadableData
from training_worker.environment.counterfactual import Counterfactual, Edit, counterfactual
from training_worker.environment.episode import Attempt
from training_worker.reward import RewardConfig

from .breakdown import parts_of
from .detail_context import load_scored_rollout
from .entered_arguments import NotArguments, arguments_of
from .models import Trajectory
from .replay_score import example_of

UNPROCESSABLE = 422
BLIND = "Your blind review of this item is not complete. Complete it, then try again."


class NotPossible(Exception):
    """Error if there is nothing to compare; the message says why and what to do."""


@dataclass(frozen=True)
class Difference:
    """A part of the total, in points, before and after the edit."""

    title: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@in_project(Action.VIEW)
@require_http_methods(["GET", "POST"])
def what_if(request: ProjectRequest, dataset: int, example: str) -> HttpResponse:
    """Show the reward replay of a trajectory, be it a demonstration or a rollout."""
    rows = Trajectory.objects.filter_by_project(request.project).select_related("dataset__project__organisation")
    found = get_object_or_404(rows, dataset__number=dataset, example=example)
    if request.method == "GET":
        return redirect(found)
    made = example_of(found)
    if made is None:
        return render_problem(
            request, found.get_absolute_url(), "This trajectory cannot be read, so it cannot be replayed."
        )
    if blind_since(found, request.user) is not None:
        return render_problem(request, found.get_absolute_url(), BLIND)
    rollout, _, config, _ = load_scored_rollout(found, made)
    return render_comparison(request, rollout, made, config, found.get_absolute_url())


def render_comparison(
    request: ProjectRequest, rollout: Rollout, example: Example, config: RewardConfig, back: str
) -> HttpResponse:
    """Return the comparison as a fragment, or without htmx as a page; 422 if the edit can't be run."""
    try:
        edit = edit_of(request, rollout)
        found = run(example, rollout, edit, config)
    except NotPossible as why:
        return render_problem(request, back, str(why))
    context = {"found": found, "edit": edit, "number": edit.position + 1, "was": rollout.calls[edit.position]}
    context |= {"rows": differences(found, config), "moved": [one for one in found.calls if one.before and one.differs]}
    context |= {"own": [one for one in found.calls if one.before is None], "other": redone(found, rollout)}
    return page(request, {**context, "before": total(found.before.reward), "after": total(found.after.reward)}, back)


def edit_of(request: ProjectRequest, rollout: Rollout) -> Edit:
    """Return the requested edit. Raises NotPossible."""
    number = request.POST.get("call", "")
    if not (number.isdecimal() and len(number) < 6 and 1 <= int(number) <= len(rollout.calls)):
        raise NotPossible(f"Unknown call {number[:20]!r}. Reload the page.")
    if request.POST.get("do") == "drop":
        return Edit(int(number) - 1)
    tool = request.POST.get("tool", "").strip()[:200]
    try:
        return Edit(int(number) - 1, ToolCall(tool, arguments_of(request.POST.get("arguments", ""))))
    except NotArguments as why:
        raise NotPossible(str(why)) from None


def run(example: Example, rollout: Rollout, edit: Edit, config: RewardConfig) -> Counterfactual:
    """Replay the calls with and without the edit. Raises NotPossible."""
    if missing := [name for name in example.world.servers if name not in SERVERS]:
        raise NotPossible(f"Missing server: {', '.join(missing)}. The calls cannot be replayed.")
    if not rollout.valid:
        raise NotPossible("The policy did not cause the failure of this rollout, so it has no score to compare with.")
    try:
        Attempt(example)
    except UnreadableData as error:
        raise NotPossible(f"{error} Until then the calls cannot be replayed.") from None
    except KeyError as error:
        raise NotPossible(f"Missing tool: {error.args[0]}. The calls cannot be replayed.") from None
    return counterfactual(example, rollout, edit, config)


def differences(found: Counterfactual, config: RewardConfig) -> list[Difference]:
    """Return the parts of both totals, by title; none for an abstention, whose reward is a single number."""
    before, after = (
        {part.title: part.adds for part in parts_of(one, config)} if one else {}
        for one in (found.before.reward, found.after.reward)
    )
    titles = dict.fromkeys([*before, *after])
    return [Difference(title, before.get(title, 0.0), after.get(title, 0.0)) for title in titles]


def redone(found: Counterfactual, rollout: Rollout) -> bool:
    """Return whether the current servers answer the unedited calls differently than recorded."""
    return [one.observation for one in found.before.calls] != [one.observation for one in rollout.calls]


def total(reward: Reward | None) -> float | None:
    return reward.total if reward else None


def render_problem(request: ProjectRequest, back: str, why: str) -> HttpResponse:
    return page(request, {"why": why}, back, UNPROCESSABLE)


def page(request: ProjectRequest, context: dict[str, Any], back: str, status: int = 200) -> HttpResponse:
    if request.htmx:
        return render(request, "trajectories/what_if.html", context)
    return render(request, "trajectories/what_if_page.html", {**context, "back": back}, status=status)
