"""Pages of a job with its progress, error, log and attempts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from prove_web.accounts.permissions import Action, in_project
from prove_web.accounts.redirects import going_back
from prove_web.core.parse_int import parse_digits
from training_worker.jobs.console import LOG

from .hints import advice
from .jobs import NotNow, request_stop, resume, summary
from .log import LINES, tail
from .log_search import read_lines_around, seek
from .models import Job, JobEvent, StopLevel

# Attempts of a job from its events: where each ran and how it ended.


@dataclass
class Attempt:
    number: int
    started_at: datetime | None = None
    host: str = ""
    device: str = ""
    ended_at: datetime | None = None
    state: str = ""  # empty while running, and if the worker never reported an end
    error: str = ""  # reason of the end


def attempts(job: Job) -> list[Attempt]:
    """Return the attempts, newest first; the current one is included before its first event."""
    found = {job.attempt: Attempt(job.attempt)}
    events = JobEvent.objects.filter(job=job, kind__in=("started", "ended")).order_by("id")
    for number, kind, at, data in events.values_list("attempt", "kind", "at", "data"):
        apply_attempt_event(found.setdefault(number, Attempt(number)), kind, at, data)
    found[job.attempt].state = job.state
    return [found[number] for number in sorted(found, reverse=True)]


def apply_attempt_event(attempt: Attempt, kind: str, at: datetime, data: Any) -> None:
    if not isinstance(data, dict):
        return  # events of older workers were not validated
    if kind == "started":
        attempt.started_at, attempt.host, attempt.device = at, data.get("host", ""), data.get("device", "")
    else:
        attempt.ended_at, attempt.state, attempt.error = at, data.get("state", ""), data.get("error", "")


WORDS = 200  # characters of a log search
OFFSET = 14  # digits of a log offset


@in_project(Action.VIEW)
@vary_on_headers("HX-Request")
@require_GET
def job(request: Any, job: UUID) -> HttpResponse:
    """Show the job page, or for htmx only its changing part.

    `part=state` returns the state as JSON, as sockets send it.
    """
    found = one_of(request.project, job)
    if request.GET.get("part") == "state":
        return JsonResponse(summary(found))
    newest = JobEvent.objects.filter(job=found).order_by("-id").values_list("id", flat=True).first()
    context = {"job": found, "attempts": attempts(found), "advice": advice(found), "cursor": newest or 0}
    return render(request, "live/job_state.html" if request.htmx else "live/job.html", context)


@in_project(Action.VIEW)
@require_GET
def job_log(request: Any, job: UUID) -> HttpResponse:
    """Show the end of the log, with `?log=` and `?log_level=` the matching lines, or with `?at=` a line in context."""
    found = one_of(request.project, job)
    path, query = found.folder / LOG, request.GET
    words, level = query.get("log", "")[:WORDS], query.get("log_level", "")
    context = {"job": found, "words": words, "level": level, "most": LINES}
    if (at := parse_digits(query.get("at", ""), OFFSET)) is not None:
        return render(request, "live/log_around.html", {**context, "found": read_lines_around(path, at, words)})
    if words or level in ("warning", "error"):
        sought = seek(path, words, level, parse_digits(query.get("before", ""), OFFSET))
        return render(request, "live/log_found.html", {**context, "found": sought})
    return render(request, "live/log.html", {**context, "text": tail(path)})


@in_project(Action.LAUNCH)
@require_POST
def job_stop(request: Any, job: UUID) -> HttpResponse:
    found, level = one_of(request.project, job), request.POST.get("level")
    if level not in (StopLevel.AFTER_STEP, StopLevel.NOW):
        messages.error(request, "Unknown stop level. Choose after_step or now.")
    else:
        request_stop(found, level)
    return redirect_back_or_job(request, found)


@in_project(Action.LAUNCH)
@require_POST
def job_resume(request: Any, job: UUID) -> HttpResponse:
    found = one_of(request.project, job)
    try:
        resume(found)
    except NotNow as error:
        messages.info(request, str(error))
    return redirect_back_or_job(request, found)


def one_of(project: Any, job: UUID) -> Job:
    related = ("project__organisation", "after", "created_by", "dataset", "run", "evaluation")
    return get_object_or_404(Job.objects.not_deleted().select_related(*related), project=project, pk=job)


def redirect_back_or_job(request: Any, job: Job) -> HttpResponse:
    return going_back(request, reverse("job", args=[*job.project.path, job.pk]))
