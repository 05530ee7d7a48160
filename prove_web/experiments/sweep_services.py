"""Sweep operations shared by pages and API: atomic launch, members, and stopping."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.db.models.fields.json import KeyTransform
from django.shortcuts import get_object_or_404

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.core.json_number import json_number
from prove_web.live.jobs import request_stop
from prove_web.live.models import ENDED, State

from .forms import format_setting
from .models import Run, Sweep
from .querysets import annotate_runs, select_sampled_value
from .run_launch import launch
from .sweep_analysis import Member
from .sweep_form import VARIABLE, SweepForm, name_of


def annotate_sweeps(rows: QuerySet[Sweep]) -> QuerySet[Sweep]:
    """Annotate sweeps with their numbers of members (total, done, failed, active) and best held-out reward."""
    after = json_number("after", KeyTransform("sampled", "members__job__result"))
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


def sweep_of(project: Project, number: int) -> Sweep:
    """Return the sweep with this number. Raises Http404."""
    found: Sweep = get_object_or_404(Sweep.objects.select_related("created_by"), project=project, number=number)
    found.project = project
    return found


@transaction.atomic
def launch_all(project: Project, user: User, form: SweepForm) -> Sweep:
    """Create the sweep of a valid form with all its members, atomically."""
    lock_active_project(project)  # so that concurrent launches get different numbers
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


def members_of(sweep: Sweep) -> list[Run]:
    """Return the sweep's runs in order, each with its held-out reward `before` and `after` training."""
    rows = annotate_runs(sweep.members.all()).annotate(
        before=select_sampled_value("before"), after=select_sampled_value("after")
    )
    return list(rows.order_by("number"))


def best_of(members: Sequence[Run]) -> Run | None:
    return max((run for run in members if run.after is not None), key=lambda run: run.after, default=None)


def ended_of(sweep: Sweep, members: Sequence[Run], best: Run | None) -> list[Member]:
    """Return the members that have a held-out reward, with display values of their settings."""
    return [
        Member(
            run.number,
            {field: format_setting(field, run.varied.get(field, "")) for field in sweep.space},
            run.after,
            run == best,
        )
        for run in members
        if run.after is not None
    ]


def titles_of(sweep: Sweep) -> dict[str, str]:
    """Return the titles of the varied settings."""
    return {field: VARIABLE.get(field, field) for field in sweep.space}


def stop_all(sweep: Sweep, level: str) -> int:
    """Stop every active member and return their number."""
    active = [run.job for run in sweep.members.select_related("job").exclude(job__state__in=ENDED)]
    for job in active:
        request_stop(job, level)
    return len(active)
