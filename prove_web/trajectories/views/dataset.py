"""The page of one data set: what is in it, or how far its making is."""

from __future__ import annotations

from typing import Any

from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from prove_web.accounts.permissions import Action, in_project
from prove_web.live.models import Job, JobEvent, State
from prove_web.review.blinding import Blind

from ..dataset_card import card
from ..filters import TrajectoryFilter
from ..forecast import drops
from ..lineage import lineage
from ..list_params import parse_search, tidy
from ..listing import lines
from ..models import Dataset
from ..paging import SORTS, order_of, page_of
from ..stats import mix, stats
from ..text_stats import language
from .finding import one_of


@in_project(Action.VIEW)
@require_GET
def dataset(request: Any, dataset: int) -> HttpResponse:
    found = one_of(request.project, dataset)
    newest = found.trajectories.aggregate(newest=Max("pk"))["newest"]
    if newest is None or found.loading_at or found.job.state != State.DONE:  # while it is filled, some rows are there
        return unfinished(request, found)
    if request.GET.get("part") == "progress":
        return again()
    if request.GET.get("part") == "language":
        return render(request, "trajectories/language.html", {"language": language(found, newest)})
    if not request.htmx and "" in request.GET.values():
        return redirect(f"{request.path}?{tidy(request.GET.dict())}".removesuffix("?"))
    filled = stats(found, newest)
    blind = Blind(request.user, request.project)
    narrowed = TrajectoryFilter(request.GET, dataset=found, blind=blind)
    narrowed.offer(steps=filled.steps.values, server=filled.servers.values, tool=sorted(filled.tools.values))
    order = order_of(request.GET, blind=blind)
    page = page_of(request.project, narrowed.qs, request.GET, order)
    typed = parse_search(request.GET)
    context = {
        "dataset": found,
        "job": found.job,
        "stats": filled,
        "filter": narrowed,
        "query": typed,
        "fault": narrowed.fault,
        "covered": narrowed.covered,
        "marked": narrowed.fault and narrowed.fault.around(typed),
        "narrowed": narrowed.narrowed,
        "page": page,
        "lines": lines(page, blind),
        "order": order.name,
        "sorts": SORTS,
        "link": narrowed.address,
        "sought": narrowed.address,
        "lineage": lineage(found),
        "card": card(found.job.result),
    }
    response = render(request, "trajectories/dataset.html", context)
    if request.htmx:
        response["HX-Push-Url"] = f"{request.path}?{narrowed.address}".removesuffix("?")
    return response


def unfinished(request: HttpRequest, found: Dataset) -> HttpResponse:
    """The page of a data set that has no trajectories: its job is not done, failed, or they are being loaded."""
    job = found.job
    newest = JobEvent.objects.filter(job=job).order_by("-id").values_list("id", flat=True).first()
    made = mix(job.result)
    loading = job.state == State.DONE and not (made and made.train + made.held_out == 0)
    context = {"dataset": found, "job": job, "cursor": newest or 0, "loading": loading, **load_progress(job)}
    if loading:
        context["kept"] = found.trajectories.count()
    if request.GET.get("part") != "progress":
        return render(request, "trajectories/dataset_unfinished.html", context)
    return again() if job.ended and not loading else render(request, "trajectories/progress.html", context)


def load_progress(job: Job) -> dict[str, Any]:
    """How many conversations the job has made by now, and why it dropped the rest."""
    events = JobEvent.objects.filter(job=job, attempt=job.attempt, kind="progress", data__has_key="kept")
    data = events.order_by("-id").values_list("data", flat=True).first() or {}
    return {"kept": data.get("kept"), "drops": drops(data.get("dropped", {}))}


def again() -> HttpResponse:
    """Have the whole page asked for anew: it is another one now."""
    return HttpResponse(headers={"HX-Refresh": "true"})
