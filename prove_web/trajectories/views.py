"""Pages about data sets: the list, making one, what is in one, and one trajectory with all that is known of it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from prove_web.accounts.permissions import Action, in_project
from prove_web.live.models import JobEvent, State
from prove_web.servers.calls import MOST_CALLS
from prove_web.servers.models import Source
from prove_web.servers.opened import NoWorld, open_after, stale
from prove_web.servers.opened import of_example as calls_of_example
from prove_web.servers.session_page import number
from training_worker.prove.trajectory import Example

from .by_hand import VERSION
from .conversation import of_example
from .facts import facts_of, row_of
from .filters import TrajectoryFilter, tidy
from .forms import OF_A_CHAIN, NewDataset
from .models import Dataset, Trajectory
from .stats import mix, stats
from .verdict import example_of, judge

DATASETS_PER_PAGE = 25
TRAJECTORIES_PER_PAGE = 50
RELATED = ("project__organisation", "job__created_by", "job__project__organisation", "job__after")


@in_project(Action.VIEW)
@require_GET
def datasets(request: Any) -> HttpResponse:
    rows = Dataset.objects.filter(project=request.project).select_related("job__created_by")
    page = Paginator(rows, DATASETS_PER_PAGE).get_page(request.GET.get("page"))
    found = [{"dataset": each, "mix": mix(each.job.result)} for each in page]
    return render(request, "trajectories/datasets.html", {"page": page, "datasets": found})


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_new(request: Any) -> HttpResponse:
    chain = request.GET.get("chain", "").replace("\0", "")[:400]
    form = NewDataset(request.project, request.POST or None, initial=about(chain))
    if request.method == "POST" and form.is_valid():
        return redirect(form.launch(request.project, request.user))
    return render(request, "trajectories/dataset_new.html", {"form": form}, status=422 if form.errors else 200)


def about(chain: str) -> dict[str, Any]:
    """What a form about one chain begins with; about none it is as it is."""
    return {"chain": chain, **OF_A_CHAIN} if chain else {}


@in_project(Action.VIEW)
@require_GET
def dataset(request: Any, dataset: int) -> HttpResponse:
    found = one_of(request.project, dataset)
    if not found.trajectories.exists():
        return unfinished(request, found)
    if request.GET.get("part") == "progress":
        return again()
    if not request.htmx and "" in request.GET.values():
        return redirect(f"{request.path}?{tidy(request.GET.dict())}".removesuffix("?"))
    filled = stats(found)
    narrowed = TrajectoryFilter(request.GET, queryset=listed(found))
    narrowed.offer(steps=filled.steps.values, server=filled.servers.values, tool=sorted(filled.tools.values))
    page = Paginator(narrowed.qs, TRAJECTORIES_PER_PAGE).get_page(request.GET.get("page"))
    rows = [row_of(each) for each in page]
    context = {"dataset": found, "job": found.job, "stats": filled, "filter": narrowed, "page": page, "rows": rows}
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
    context = {"dataset": found, "job": job, "cursor": newest or 0, "loading": loading}
    if request.GET.get("part") != "progress":
        return render(request, "trajectories/dataset_unfinished.html", context)
    return again() if job.ended and not loading else render(request, "trajectories/progress.html", context)


def again() -> HttpResponse:
    """Have the whole page asked for anew: it is another one now."""
    return HttpResponse(headers={"HX-Refresh": "true"})


@in_project(Action.VIEW)
@require_GET
def trajectory(request: Any, dataset: int, example: str) -> HttpResponse:
    found = one_trajectory(request.project, dataset, example)
    narrowed = TrajectoryFilter(request.GET, queryset=listed(found.dataset))
    around = {
        "earlier": narrowed.qs.filter(pk__lt=found.pk).order_by("-pk").values_list("example", flat=True).first(),
        "later": narrowed.qs.filter(pk__gt=found.pk).order_by("pk").values_list("example", flat=True).first(),
        "filter": narrowed,
    }
    context = {"trajectory": found, "dataset": found.dataset, "row": row_of(found), **around}
    recorded = example_of(found)
    if recorded and not recorded.source and request.role.covers(Action.ANNOTATE):
        context["opens"] = reverse("trajectory-session", args=[*request.project.path, dataset, found.example])
    return render(request, "trajectories/trajectory.html", {**context, **shown(recorded)})


def shown(example: Example | None) -> dict[str, Any]:
    """What there is to show of an example; of a record that cannot be read there is nothing."""
    if example is None:
        return {"example": None}
    verdict = judge(example)
    turns = of_example(example, verdict.reward)
    return {"example": example, "facts": facts_of(example), "turns": turns, "verdict": verdict}


@in_project(Action.ANNOTATE)
@require_POST
def trajectory_session(request: Any, dataset: int, example: str) -> HttpResponse:
    """Open the world of a trajectory as a live session: at its start, or after so many of its ground-truth calls."""
    found = one_trajectory(request.project, dataset, example)
    made = example_of(found)
    most = number(request.POST.get("calls", "0"), MOST_CALLS)
    title = f"World of {found.example}" + (f" after call {most}" if most else "")
    source = Source.SYNTHESIS if most and VERSION not in found.dataset.job.spec else Source.TRAJECTORY
    try:
        if made is None:
            raise NoWorld("There is no world to open: this trajectory cannot be read.")
        session = open_after(request.project, request.user, made, title, source, calls_of_example(made, most))
    except NoWorld as why:
        messages.error(request, str(why))
        return redirect(found)
    if stale(made):
        messages.warning(request, "The servers have other code now: this world may differ from the trajectory's.")
    return redirect(session)


def one_of(project: Any, number: int) -> Dataset:
    rows = Dataset.objects.select_related(*RELATED)
    return get_object_or_404(rows, project=project, number=number)


def one_trajectory(project: Any, number: int, example: str) -> Trajectory:
    rows = Trajectory.objects.select_related("dataset__project__organisation")
    return get_object_or_404(rows, dataset__project=project, dataset__number=number, example=example)


def listed(dataset: Dataset) -> QuerySet[Trajectory]:
    """Without the records, which lists do not show."""
    return dataset.trajectories.defer("record")
