"""Page that collects rollouts of a run into a dataset."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from prove_web.accounts.models import User
from prove_web.accounts.permissions import Action, in_project
from prove_web.experiments.detail import run_of
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.experiments.rollouts import NoRollouts

from .curate_forms import Collect
from .models import Dataset
from .rollout_collection import RolloutSelection, collect
from .versions import InvalidDataset


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def run_collect(request: Any, run: int) -> HttpResponse:
    """Choose rollouts of a run by step, group and reward, and create the dataset; `?step=` preselects a step."""
    found = run_of(request.project, run)
    step = request.GET.get("step", "")
    initial = {"steps": step if step.isdecimal() else "", "name": f"Rollouts of {found.name}"[:80]}
    form = Collect(found, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(collect_from_form(request.user, form))
        except (InvalidDataset, NoRollouts) as why:
            form.add_error(None, str(why))
    context = {"form": form, "run": found, "stored": spans(StoredRun(found).steps())}
    return render(request, "trajectories/collect.html", context, status=422 if form.errors else 200)


def collect_from_form(user: User, form: Collect) -> Dataset:
    """Create the dataset of a valid form. Raises InvalidDataset and NoRollouts."""
    options = {name: form.cleaned_data[name] for name in ("steps", "groups", "low", "high", "failing")}
    return collect(form.run, user, form.cleaned_data["name"], RolloutSelection(**options))


def spans(steps: list[int]) -> str:
    """Format steps as ranges, such as 1-40, 50."""
    found: list[list[int]] = []
    for step in steps:
        if found and found[-1][1] == step - 1:
            found[-1][1] = step
        else:
            found.append([step, step])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in found)
