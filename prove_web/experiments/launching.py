"""Launching a run: the form, the run and its job, which are made together or not at all."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.db.models import Max
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.jobs import enqueue
from prove_web.live.models import Job, Kind

from .forms import RunForm, copied, usable
from .models import Run


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def run_new(request: ProjectRequest) -> HttpResponse:
    """`?clone=` begins with the settings of another run, `?dataset=` with that data set."""
    if request.method == "POST":
        form = RunForm(request.project, request.POST)
        if form.is_valid():
            run = launch(request.project, request.user, form)
            messages.success(request, f"Run {run.number} is in the queue. Its curves appear here as it trains.")
            return redirect(run)
    else:
        form = RunForm(request.project, initial=beginning(request))
    status = 422 if form.errors else 200
    ready = usable(request.project).exists()
    return render(request, "experiments/run_new.html", {"form": form, "ready": ready}, status=status)


def beginning(request: ProjectRequest) -> dict[str, object]:
    project, clone, dataset = request.project, request.GET.get("clone", ""), request.GET.get("dataset", "")
    source = Run.objects.filter(project=project, number=int(clone)).first() if small(clone) else None
    if source:
        return copied(source)
    chosen = usable(project).filter(number=int(dataset)).first() if small(dataset) else usable(project).first()
    return {"name": f"Run {next_number(project)}", "dataset": chosen}


def small(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


def next_number(project: Project) -> int:
    return (Run.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0) + 1


@transaction.atomic
def launch(project: Project, user: User, form: RunForm) -> Run:
    """The run with the project's next number; its job goes to the queue once both are stored."""
    Project.objects.select_for_update().get(pk=project.pk)  # two people at once get two numbers
    name, dataset, spec = form.cleaned_data["name"], form.cleaned_data["dataset"], form.spec
    job = Job.objects.create(project=project, kind=Kind.RUN, title=name, spec=spec, created_by=user)
    run = Run.objects.create(
        project=project, number=next_number(project), name=name, dataset=dataset, config=spec, job=job
    )
    enqueue(job)
    return run
