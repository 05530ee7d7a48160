"""The page that replays a stored rollout with one call removed or replaced."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.trajectories.what_if import render_comparison, render_problem

from .detail import run_of
from .reward_config import scored_at
from .rollouts import NoRollouts, examples_of, rollout_of


@in_project(Action.VIEW)
@require_http_methods(["GET", "POST"])
def rollout_what_if(request: ProjectRequest, run: int, step: int, index: int) -> HttpResponse:
    """Show the reward of a rollout with one call removed or replaced."""
    found, back = run_of(request.project, run), reverse("rollout", args=[*request.project.path, run, step, index])
    if request.method == "GET":
        return redirect(back)
    try:
        record = rollout_of(found, step, index)
    except NoRollouts as error:
        return render_problem(request, back, str(error))
    if record is None:
        raise Http404(f"This step has no rollout {index}.")
    example = examples_of(found, [record.example]).get(record.example)
    if example is None:
        return render_problem(
            request, back, "The example of this rollout is no longer in the dataset, so it can't be replayed."
        )
    return render_comparison(request, record, example, scored_at(found, step), back)
