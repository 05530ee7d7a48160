"""Pages of the job queue and of the workers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.disk_guard import is_disk_low
from prove_web.live.models import Job
from prove_web.live.priority import move
from prove_web.live.views import redirect_back_or_job

from .enrolment import drain, enrol, revoke
from .queue_view import counts, explain_wait, line, list_cancelled_jobs
from .worker_drain import list_draining_workers
from .worker_status import QUEUES, workers

# Enrolment form for owners.

DAYS = (("1", "1 day"), ("30", "30 days"), ("365", "1 year"))


class EnrolForm(forms.Form):
    name = forms.CharField(label="Machine", max_length=40, help_text="Display name, such as the name of its GPU.")
    days = forms.ChoiceField(
        label="Expires in", choices=DAYS, initial="30", help_text="After that the machine is refused."
    )


ROWS, MOST_ENROLMENTS = 25, 50
MOVED = {
    "first": "“{}” is now first among the jobs of this project.",
    "last": "“{}” is now last among the jobs of this project.",
    "up": "“{}” was moved up.",
    "down": "“{}” was moved down.",
}


@in_project(Action.VIEW)
@require_safe
def job_queue(request: ProjectRequest) -> HttpResponse:
    """Show a queue: `?queue=` is one of QUEUES, `?page=` a page of its waiting jobs."""
    queue = request.GET.get("queue", "")
    queue = queue if queue in QUEUES else next(iter(QUEUES))
    mine = set(Project.objects.filter_visible_to(request.user).values_list("pk", flat=True))
    found = workers(request.organisation)
    overview = line(queue, request.project, mine, found or [])
    counted, page = counts(), Paginator(overview.turns, ROWS).get_page(request.GET.get("page"))
    page.object_list = [explain_wait(turn, overview.workers) for turn in page.object_list]
    context = {
        "line": overview,
        "page": page,
        "queues": [(name, about, counted.get(name, 0)) for name, about in QUEUES.items()],
        "about": QUEUES[queue],
        "cancelled": list_cancelled_jobs(request.project, queue),
        "unreachable": found is None,
    }
    return render(request, "workers/queue.html", context)


@in_project(Action.LAUNCH)
@require_POST
def job_move(request: ProjectRequest, job: UUID) -> HttpResponse:
    """Move a job among its project's jobs in the queue; `to` is up, down, first or last."""
    found = get_object_or_404(Job.objects.select_related("project__organisation"), project=request.project, pk=job)
    to = request.POST.get("to", "")
    if to not in MOVED:
        messages.error(request, "Unknown move. Choose up, down, first or last.")
    elif move(found, to) < 0:
        messages.info(request, f"“{found.title}” is no longer queued; nothing was moved.")
    else:
        messages.success(request, MOVED[to].format(found.title))
    return redirect_back_or_job(request, found)


@in_project(Action.VIEW)
@require_safe
def worker_list(request: ProjectRequest) -> HttpResponse:
    return render(request, "workers/workers.html", build_workers_context(request, EnrolForm()))


def build_workers_context(request: ProjectRequest, form: EnrolForm) -> dict[str, Any]:
    """Return the workers, and for owners also the enrolments."""
    found = workers(request.organisation)
    enrolments = request.organisation.enrolments.select_related("made_by")[:MOST_ENROLMENTS]
    return {
        "workers": found or [],
        "unreachable": found is None,
        "mine": set(Project.objects.filter_visible_to(request.user).values_list("pk", flat=True)),
        "enrolments": list(enrolments) if request.role.covers(Action.MANAGE) else [],
        "heard": {worker.name for worker in found or [] if worker.alive},
        "draining": list_draining_workers(),
        "form": form,
        "disk_low": settings.FREE_GB if is_disk_low() else 0,
    }


@in_project(Action.MANAGE)
@require_POST
def enrolment_new(request: ProjectRequest) -> HttpResponse:
    """Enrol a machine; only the response page shows the token."""
    form = EnrolForm(request.POST)
    if not form.is_valid():
        return render(request, "workers/workers.html", build_workers_context(request, form), status=422)
    given = form.cleaned_data
    made, token = enrol(request.organisation, request.user, given["name"], int(given["days"]))
    command = f"python -m training_worker.join {request.build_absolute_uri('/')} {token}"
    context = {**build_workers_context(request, EnrolForm()), "made": made, "command": command}
    return render(request, "workers/workers.html", context)


@in_project(Action.MANAGE)
@require_POST
def enrolment_revoke(request: ProjectRequest, enrolment: int) -> HttpResponse:
    found = get_object_or_404(request.organisation.enrolments, pk=enrolment)
    jobs = revoke(found)
    lost = f" Its {jobs} job{'s' * (jobs != 1)} will go to another worker." if jobs else ""
    messages.success(request, f"“{found.name}” revoked.{lost}")
    return redirect("workers", *request.project.path)


@in_project(Action.MANAGE)
@require_POST
def enrolment_drain(request: ProjectRequest, enrolment: int) -> HttpResponse:
    """Drain (`on=1`) or resume (`on=0`) an enrolled machine."""
    found, drains = get_object_or_404(request.organisation.enrolments, pk=enrolment), request.POST.get("on") == "1"
    drain(found, drains)
    if drains:
        said = "finishes its current jobs and takes no new ones, also after a restart, until you resume it"
        messages.success(request, f"“{found.name}” {said}.")
    else:
        messages.success(request, f"“{found.name}” resumed: it takes jobs again.")
    return redirect("workers", *request.project.path)
