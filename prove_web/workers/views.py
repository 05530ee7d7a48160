"""The queue of a project's site, and the workers that serve it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.models import Job
from prove_web.live.queueing import move
from prove_web.live.views import back

from .turns import cancelled, counts, line
from .working import QUEUES, workers

ROWS = 25
MOVED = {
    "first": "“{}” goes first of the jobs of this project.",
    "last": "“{}” goes last of the jobs of this project.",
    "up": "“{}” was moved up.",
    "down": "“{}” was moved down.",
}


@in_project(Action.VIEW)
@require_safe
def job_queue(request: ProjectRequest) -> HttpResponse:
    """`?queue=` one of QUEUES, `?page=` of what waits in it."""
    queue = request.GET.get("queue", "")
    queue = queue if queue in QUEUES else next(iter(QUEUES))
    mine = set(Project.objects.of(request.user).values_list("pk", flat=True))
    found = workers()
    shown = line(queue, request.project, mine, found or [])
    counted = counts()
    context = {
        "line": shown,
        "page": Paginator(shown.turns, ROWS).get_page(request.GET.get("page")),
        "queues": [(name, about, counted.get(name, 0)) for name, about in QUEUES.items()],
        "about": QUEUES[queue],
        "cancelled": cancelled(request.project, queue),
        "unreachable": found is None,
    }
    return render(request, "workers/queue.html", context)


@in_project(Action.LAUNCH)
@require_POST
def job_move(request: ProjectRequest, job: UUID) -> HttpResponse:
    """`to`: up, down, first or last of this project's jobs of its queue."""
    found = get_object_or_404(Job.objects.select_related("project__organisation"), project=request.project, pk=job)
    to = request.POST.get("to", "")
    if to not in MOVED:
        messages.error(request, "A job is moved up, down, first or last; this was none of them.")
    elif move(found, to) < 0:
        messages.info(request, f"“{found.title}” has left the queue meanwhile; nothing was moved.")
    else:
        messages.success(request, MOVED[to].format(found.title))
    return back(request, found)


@in_project(Action.VIEW)
@require_safe
def worker_list(request: ProjectRequest) -> HttpResponse:
    mine = set(Project.objects.of(request.user).values_list("pk", flat=True))
    found = workers()
    return render(request, "workers/workers.html", {"workers": found or [], "unreachable": found is None, "mine": mine})
