"""Launching an evaluation: the form, and the atomic creation of the evaluation and its job."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Max
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.jobs import enqueue
from prove_web.live.models import Job, Kind
from training_worker.evaluation.registry import KNOWN

from .forms import EvaluationForm, build_clone_values, get_missing_requirement
from .models import Evaluation
from .policies import Origin, endpoint_choices, of_run, origin

LISTS = ("categories",)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def evaluation_new(request: ProjectRequest) -> HttpResponse:
    """Show the evaluation form or launch an evaluation.

    `?benchmark=`, `?run=3&checkpoint=best` (or last, or a step), `?policy=` and `?clone=` set initial values. A POST
    with `fill` launches nothing and redraws the form with the fields of the selected benchmark.
    """
    project = request.project
    if request.method == "POST" and "fill" in request.POST:
        form = EvaluationForm(project, choose_benchmark(request.POST), initial=collect_form_values(request.POST))
    elif request.method == "POST":
        form = EvaluationForm(project, choose_benchmark(request.POST), request.POST)
        if form.is_valid():
            evaluation = launch(
                project, request.user, form.title, form.spec, origin(project, form.cleaned_data["policy"])
            )
            messages.success(request, f"Evaluation {evaluation.number} queued.")
            return redirect(evaluation)
    else:
        form = build_initial_form(request)
    context = {
        "form": form,
        "known": form.known,
        "benchmarks": [(one, get_missing_requirement(one), one == form.known) for one in KNOWN.values()],
        "endpoints": endpoint_choices(),
    }
    return render(request, "evaluations/evaluation_new.html", context, status=422 if form.errors else 200)


def choose_benchmark(data: Any) -> str:
    """Return the requested benchmark, else the first that is ready, else the first."""
    wanted = str(data.get("benchmark", ""))
    ready = [one.name for one in KNOWN.values() if not get_missing_requirement(one)]
    return wanted if wanted in KNOWN else [*ready, *KNOWN][0]


def collect_form_values(data: Any) -> dict[str, Any]:
    return {name: data.getlist(name) if name in LISTS else value for name, value in data.items()}


def build_initial_form(request: ProjectRequest) -> EvaluationForm:
    project, given, start = request.project, request.GET, {}
    benchmark, clone = choose_benchmark(given), given.get("clone", "")
    source = Evaluation.objects.filter(project=project, number=int(clone)).first() if is_short_number(clone) else None
    if source:
        benchmark, start = source.benchmark if source.benchmark in KNOWN else benchmark, build_clone_values(source)
    elif policy := of_run(project, given.get("run", ""), given.get("checkpoint", "")) or given.get("policy", ""):
        start = {"policy": policy}
    return EvaluationForm(project, benchmark, initial=start)


def is_short_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


@transaction.atomic
def launch(
    project: Project,
    user: User | None,
    name: str,
    spec: dict[str, Any],
    source: Origin,
    after: Job | None = None,
) -> Evaluation:
    """Create the evaluation with the project's next number; its job is queued on commit."""
    lock_active_project(project)  # so that concurrent launches get different numbers
    number = (Evaluation.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0) + 1
    job = Job.objects.create(project=project, kind=Kind.EVALUATE, title=name, spec=spec, after=after, created_by=user)
    evaluation = Evaluation.objects.create(
        project=project,
        number=number,
        name=name,
        benchmark=spec["benchmark"],
        model=spec.get("model", spec["source"]),
        run=source.run,
        checkpoint=source.checkpoint,
        job=job,
    )
    enqueue(job)
    return evaluation
