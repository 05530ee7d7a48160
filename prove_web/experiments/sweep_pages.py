"""Pages of sweeps: the list, launching one, how its members stand, and stopping them all."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, FloatField, Max, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.jobs import request_stop
from prove_web.live.models import ENDED, State, StopLevel

from .compare.chosen import MOST as MOST_COMPARED
from .forms import RunForm, of_reward, usable, worded
from .launching import beginning, launch, told_of, typed
from .listing import measured, sampled, sparklines
from .models import Run, Sweep
from .scored import said
from .sweep_form import PRESETS, VARIABLE, SweepForm, name_of
from .sweep_found import ENOUGH, Member, parallel, weights
from .sweep_outlook import outlook
from .sweep_plot import Ended, plot

ROWS = 25


@in_project(Action.VIEW)
@require_safe
def sweeps(request: ProjectRequest) -> HttpResponse:
    page = Paginator(counted(Sweep.objects.filter(project=request.project)), ROWS).get_page(request.GET.get("page"))
    return render(request, "experiments/sweeps.html", {"page": page})


def counted(rows: QuerySet[Sweep]) -> QuerySet[Sweep]:
    """Sweeps with how many members they have, are done, failed or at work, and the best held-out reward of one."""
    after = Cast(KeyTextTransform("after", KeyTransform("sampled", "members__job__result")), FloatField())
    return (
        rows.select_related("created_by", "project__organisation")
        .annotate(
            count=Count("members"),
            done=Count("members", filter=Q(members__job__state=State.DONE)),
            failed=Count("members", filter=Q(members__job__state__in=(State.FAILED, State.LOST))),
            active=Count("members", filter=~Q(members__job__state__in=ENDED)),
            best=Max(after),
        )
        .order_by("-number")
    )


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def sweep_new(request: ProjectRequest) -> HttpResponse:
    """A POST with `fill` launches nothing: it fills a preset or a recipe in, or shows the members as they would be."""
    if request.method != "POST":
        form, base = (
            SweepForm(request.project, initial=first(request)),
            RunForm(request.project, initial=beginning(request)),
        )
        return page_of(request, form, base)
    if (fill := request.POST.get("fill")) in ("recipe", "preset"):
        return page_of(request, SweepForm(request.project, initial=refilled(request.POST, fill)), base_of(request))
    form = SweepForm(request.project, request.POST)
    if form.is_valid() and not fill:
        sweep = launch_all(request.project, request.user, form)
        messages.success(request, f"Sweep {sweep.number} has {len(form.planned)} runs in the queue.")
        return redirect(sweep)
    return page_of(request, form, form.base, 200 if fill else 422)


def page_of(request: ProjectRequest, form: SweepForm, base: RunForm, status: int = 200) -> HttpResponse:
    names = (
        [(name_of(form.cleaned_data["name"], one.varied), one.varied) for one in form.planned]
        if form.is_valid()
        else []
    )
    context = {"sweep": form, "form": base, "members": names, "presets": PRESETS, **told_of(base)}
    context |= {"preset": request.POST.get("preset") or request.GET.get("preset", "")}
    context |= {"outlook": outlook(request.project, form.planned) if names else None}
    context |= {"ready": usable(request.project).exists(), "variable": VARIABLE}
    return render(request, "experiments/sweep_new.html", context, status=status)


def base_of(request: ProjectRequest) -> RunForm:
    return RunForm(request.project, initial=typed(request.POST))


def first(request: ProjectRequest) -> dict[str, Any]:
    """`?preset=` begins with one of the presets."""
    name = request.GET.get("preset", "")
    return {"name": f"Sweep {next_number(request.project)}"} | (rows_of(name) if name in PRESETS else {})


def rows_of(preset: str) -> dict[str, str]:
    """A preset as the first rows of the form."""
    title, space = PRESETS[preset]
    rows = {"name": title}
    for row, (field, values) in enumerate(space.items(), 1):
        rows |= {f"field_{row}": field, f"values_{row}": values}
    return rows


def refilled(data: Any, fill: str) -> dict[str, Any]:
    """What was typed of the sweep, with a preset's rows in the place of the first ones if that was asked for."""
    kept = {name.removeprefix("sweep-"): value for name, value in data.items() if name.startswith("sweep-")}
    preset = data.get("preset", "")
    return kept | (rows_of(preset) if fill == "preset" and preset in PRESETS else {})


@transaction.atomic
def launch_all(project: Project, user: User, form: SweepForm) -> Sweep:
    """The sweep and all its members, or nothing."""
    Project.objects.select_for_update().get(pk=project.pk)  # two people at once get two numbers
    given = form.cleaned_data
    random = given["method"] == Sweep.Method.RANDOM
    sweep = Sweep.objects.create(
        project=project,
        number=next_number(project),
        name=given["name"],
        method=given["method"],
        space=given["space"],
        budget=given["budget"] if random else None,
        seed=given["seed"],
        created_by=user,
    )
    for one in form.planned:
        one.form.cleaned_data["name"] = name_of(sweep.name, one.varied)
        launch(project, user, one.form, sweep, **one.varied)
    return sweep


def next_number(project: Project) -> int:
    return (Sweep.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0) + 1


@in_project(Action.VIEW)
@require_safe
def sweep_page(request: ProjectRequest, sweep: int) -> HttpResponse:
    found = sweep_of(request.project, sweep)
    members = list(
        measured(found.members.all()).annotate(before=sampled("before"), after=sampled("after")).order_by("number")
    )
    best = max((run for run in members if run.after is not None), key=lambda run: run.after, default=None)
    lines = sparklines([run.pk for run in members])
    context = {
        "sweep": found,
        "space": [(VARIABLE.get(field, field), values) for field, values in found.space.items()],
        "columns": [VARIABLE.get(field, field) for field in found.space],
        "rows": [
            (run, [worded(field, run.varied.get(field, "")) for field in found.space], lines.get(run.pk))
            for run in members
        ],
        "reward": said(members[0].scored_by) if members and not any(map(of_reward, found.space)) else "",
        "best": best,
        "plots": plots(found, members, best),
        **found_of(found, members, best),
        "states": [(state, name, count) for state, name, count in summary(members) if count],
        "active": any(not run.job.ended for run in members),
        "working": any(not run.job.ended and run.job.state != State.QUEUED for run in members),
    }
    return render(request, "experiments/sweep.html", context)


def sweep_of(project: Project, number: int) -> Sweep:
    found: Sweep = get_object_or_404(Sweep.objects.select_related("created_by"), project=project, number=number)
    found.project = project
    return found


def summary(members: list[Run]) -> list[tuple[str, str, int]]:
    """How many members are in each state, in the order in which a job goes through them."""
    counts = Counter(run.job.state for run in members)
    return [(value, label, counts[value]) for value, label in State.choices]


def plots(sweep: Sweep, members: list[Run], best: Run | None) -> list[Any]:
    ended = [run for run in members if run.after is not None]
    return [
        plot(
            VARIABLE.get(field, field),
            [
                Ended(run.number, worded(field, run.varied.get(field, "")), run.before, run.after, run == best)
                for run in ended
            ],
        )
        for field in (sweep.space if ended else ())
    ]


def found_of(sweep: Sweep, members: list[Run], best: Run | None) -> dict[str, Any]:
    """What the members that ended say of the settings, and where up to twenty of them, the best first, are compared."""
    ended = [
        Member(
            run.number,
            {field: worded(field, run.varied.get(field, "")) for field in sweep.space},
            run.after,
            run == best,
        )
        for run in members
        if run.after is not None
    ]
    titles = {field: VARIABLE.get(field, field) for field in sweep.space}
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
    """Ask every member that is not over to stop: after its step, with a checkpoint, or now."""
    found, level = sweep_of(request.project, sweep), request.POST.get("level")
    if level not in (StopLevel.AFTER_STEP, StopLevel.NOW):
        messages.error(request, "A sweep stops after the steps of its runs or now; this was neither.")
        return redirect(found)
    active = [run.job for run in found.members.select_related("job").exclude(job__state__in=ENDED)]
    for job in active:
        request_stop(job, level)
    messages.success(request, f"{len(active)} run{'s' if len(active) != 1 else ''} of it were asked to stop.")
    return redirect(found)
