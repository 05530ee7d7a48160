"""Sweep pages: list, launch form, results, and stopping all members."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.models import State, StopLevel

from .charts import MOST_COMPARED
from .forms import RunForm, format_setting, of_reward, usable
from .models import Run, Sweep
from .querysets import sparklines
from .reward_config import describe_reward
from .run_launch import build_initial_values, build_launch_preview, read_submitted_values
from .sweep_analysis import ENOUGH, parallel, weights
from .sweep_estimate import outlook
from .sweep_form import PRESETS, VARIABLE, SweepForm, name_of, rows_of
from .sweep_plot import MemberResult, plot
from .sweep_services import (
    annotate_sweeps,
    best_of,
    ended_of,
    launch_all,
    members_of,
    next_number,
    stop_all,
    sweep_of,
    titles_of,
)

ROWS = 25


@in_project(Action.VIEW)
@require_safe
def sweeps(request: ProjectRequest) -> HttpResponse:
    page = Paginator(annotate_sweeps(Sweep.objects.filter(project=request.project)), ROWS).get_page(
        request.GET.get("page")
    )
    return render(request, "experiments/sweeps.html", {"page": page})


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def sweep_new(request: ProjectRequest) -> HttpResponse:
    """Show the sweep form or launch a sweep.

    A POST with `fill` launches nothing: it applies a preset, or shows the planned members.
    """
    if request.method != "POST":
        form, base = (
            SweepForm(request.project, initial=build_sweep_initial_values(request)),
            RunForm(request.project, initial=build_initial_values(request)),
        )
        return page_of(request, form, base)
    if (fill := request.POST.get("fill")) in ("recipe", "preset"):
        return page_of(request, SweepForm(request.project, initial=apply_preset(request.POST, fill)), base_of(request))
    form, sweep = SweepForm(request.project, request.POST), None
    if not fill:
        with transaction.atomic():
            lock_active_project(request.project)  # so that validated objects still exist when the runs are launched
            sweep = launch_all(request.project, request.user, form) if form.is_valid() else None
    if sweep:
        messages.success(request, f"Sweep {sweep.number}: {len(form.planned)} runs queued.")
        return redirect(sweep)
    return page_of(request, form, form.base, 200 if fill else 422)


def page_of(request: ProjectRequest, form: SweepForm, base: RunForm, status: int = 200) -> HttpResponse:
    names = (
        [(name_of(form.cleaned_data["name"], one.varied), one.varied) for one in form.planned]
        if form.is_valid()
        else []
    )
    context = {"sweep": form, "form": base, "members": names, "presets": PRESETS, **build_launch_preview(base)}
    context |= {"preset": request.POST.get("preset") or request.GET.get("preset", "")}
    context |= {"outlook": outlook(request.project, form.planned) if names else None}
    context |= {"ready": usable(request.project).exists(), "variable": VARIABLE}
    return render(request, "experiments/sweep_new.html", context, status=status)


def base_of(request: ProjectRequest) -> RunForm:
    return RunForm(request.project, initial=read_submitted_values(request.POST))


def build_sweep_initial_values(request: ProjectRequest) -> dict[str, Any]:
    """Return initial values; `?preset=` selects a preset."""
    name = request.GET.get("preset", "")
    return {"name": f"Sweep {next_number(request.project)}"} | (rows_of(name) if name in PRESETS else {})


def apply_preset(data: Any, fill: str) -> dict[str, Any]:
    """Return the submitted sweep values, with a requested preset applied."""
    values = {name.removeprefix("sweep-"): value for name, value in data.items() if name.startswith("sweep-")}
    preset = data.get("preset", "")
    return values | (rows_of(preset) if fill == "preset" and preset in PRESETS else {})


@in_project(Action.VIEW)
@require_safe
def sweep_page(request: ProjectRequest, sweep: int) -> HttpResponse:
    found = sweep_of(request.project, sweep)
    members = members_of(found)
    best, titles = best_of(members), titles_of(found)
    lines = sparklines([run.pk for run in members])
    context = {
        "sweep": found,
        "space": [*zip(titles.values(), found.space.values(), strict=True)],
        "columns": [*titles.values()],
        "rows": [
            (run, [format_setting(field, run.varied.get(field, "")) for field in found.space], lines.get(run.pk))
            for run in members
        ],
        "reward": describe_reward(members[0].scored_by) if members and not any(map(of_reward, found.space)) else "",
        "best": best,
        "plots": plots(found, members, best),
        **build_analysis(found, members, best),
        "states": [(state, name, count) for state, name, count in summary(members) if count],
        "active": any(not run.job.ended for run in members),
        "working": any(not run.job.ended and run.job.state != State.QUEUED for run in members),
    }
    return render(request, "experiments/sweep.html", context)


def summary(members: list[Run]) -> list[tuple[str, str, int]]:
    """Return the number of members per job state, in the order of the states."""
    counts = Counter(run.job.state for run in members)
    return [(value, label, counts[value]) for value, label in State.choices]


def plots(sweep: Sweep, members: list[Run], best: Run | None) -> list[Any]:
    ended = [run for run in members if run.after is not None]
    return [
        plot(
            VARIABLE.get(field, field),
            [
                MemberResult(
                    run.number, format_setting(field, run.varied.get(field, "")), run.before, run.after, run == best
                )
                for run in ended
            ],
        )
        for field in (sweep.space if ended else ())
    ]


def build_analysis(sweep: Sweep, members: list[Run], best: Run | None) -> dict[str, Any]:
    """Return the analysis of finished members, and a link that compares the best of them (at most twenty)."""
    ended, titles = ended_of(sweep, members, best), titles_of(sweep)
    ranked = sorted(ended, key=lambda one: -one.reward)
    chosen = [one.number for one in ranked][:MOST_COMPARED] or [run.number for run in members][:MOST_COMPARED]
    query = urlencode([("run", number) for number in chosen])
    return {
        "parallel": parallel(ended, titles) if ended else None,
        "weights": weights(ended, titles),
        "ended": len(ended),
        "enough": ENOUGH,
        "compare": f"{reverse('run-compare', args=[*sweep.project.path])}?{query}",
    }


@in_project(Action.LAUNCH)
@require_POST
def sweep_stop(request: ProjectRequest, sweep: int) -> HttpResponse:
    """Stop every active member, after its step with a checkpoint or immediately."""
    found, level = sweep_of(request.project, sweep), request.POST.get("level")
    if level not in (StopLevel.AFTER_STEP, StopLevel.NOW):
        messages.error(request, "Unknown stop level. Choose after_step or now.")
        return redirect(found)
    count = stop_all(found, level)
    messages.success(request, f"Stop requested for {count} run{'s' if count != 1 else ''}.")
    return redirect(found)
