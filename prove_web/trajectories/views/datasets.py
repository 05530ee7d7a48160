"""Pages that create, show and list the datasets of a project."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Max, Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from mcp_servers.catalogue import SERVERS, TOOLS
from prove_web.accounts.permissions import Action, in_project
from prove_web.live.models import Job, JobEvent, State
from prove_web.query_language.query_string import build_query_string, parse_search
from prove_web.review.blinding import Blind

from ..dataset_card import card
from ..filters import TrajectoryFilter
from ..forecast import NoForecast, drops, forecast
from ..forms import OF_A_CHAIN, NewDataset
from ..lineage import lineage
from ..listing import build_trajectory_lines
from ..models import Dataset
from ..paging import SORTS, order_of, page_of
from ..stats import Mix, mix, stats
from ..text_stats import language
from .lookup import one_of

# Form that creates a dataset, with a forecast of the result.


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_new(request: Any) -> HttpResponse:
    """Create a dataset; `?chain=` presets a chain of tools, `?tools=` (repeated, or comma-separated) some tools."""
    form = NewDataset(request.project, request.POST or None, initial=build_initial_values(request.GET))
    if request.method == "POST" and form.is_valid():
        return redirect(form.launch(request.project, request.user))
    return render(request, "trajectories/dataset_new.html", {"form": form}, status=422 if form.errors else 200)


def build_initial_values(query: QueryDict) -> dict[str, Any]:
    """Return the initial values of a form about one chain or some tools; none for any other form."""
    if chain := query.get("chain", "").replace("\0", "")[:400]:
        return {"chain": chain, **OF_A_CHAIN}
    named = ",".join(query.getlist("tools")).split(",")
    tools = [name for name in dict.fromkeys(named) if name in TOOLS]
    servers = {TOOLS[name][0].name for name in tools}
    own = {"tools": ",".join(tools), "servers": [name for name in SERVERS if name in servers], **OF_A_CHAIN}
    return own if tools else {}


@in_project(Action.LAUNCH)
@require_GET
def dataset_forecast(request: Any) -> HttpResponse:
    """Show what the form in its current state would create."""
    return render(request, "trajectories/forecast.html", build_forecast_context(request))


def build_forecast_context(request: HttpRequest | Any) -> dict[str, Any]:
    form = NewDataset(request.project, request.GET)
    if not form.is_valid():
        return {"problem": "Correct the fields to see an estimate.", "errors": form.errors}
    try:
        return {"forecast": forecast(form.spec())}
    except NoForecast as why:
        return {"problem": str(why)}


# Page of one dataset: its contents, or the progress of its creation.


@in_project(Action.VIEW)
@require_GET
def dataset(request: Any, dataset: int) -> HttpResponse:
    found = one_of(request.project, dataset)
    newest = found.trajectories.aggregate(newest=Max("pk"))["newest"]
    if newest is None or found.loading_at or found.job.state != State.DONE:  # while it is filled, some rows exist
        return render_unfinished_dataset(request, found)
    if request.GET.get("part") == "progress":
        return reload_page()
    if request.GET.get("part") == "language":
        return render(request, "trajectories/language.html", {"language": language(found, newest)})
    if not request.htmx and "" in request.GET.values():
        return redirect(f"{request.path}?{build_query_string(request.GET.dict())}".removesuffix("?"))
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
        "marked": narrowed.fault and narrowed.fault.split_query(typed),
        "narrowed": narrowed.narrowed,
        "page": page,
        "lines": build_trajectory_lines(page, blind),
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


def render_unfinished_dataset(request: HttpRequest, found: Dataset) -> HttpResponse:
    """Show a dataset without trajectories: its job is not done, or failed, or the rows are being loaded."""
    job = found.job
    newest = JobEvent.objects.filter(job=job).order_by("-id").values_list("id", flat=True).first()
    made = mix(job.result)
    loading = job.state == State.DONE and not (made and made.train + made.held_out == 0)
    context = {"dataset": found, "job": job, "cursor": newest or 0, "loading": loading, **load_progress(job)}
    if loading:
        context["created"] = found.trajectories.count()
    if request.GET.get("part") != "progress":
        return render(request, "trajectories/dataset_unfinished.html", context)
    return reload_page() if job.ended and not loading else render(request, "trajectories/progress.html", context)


def load_progress(job: Job) -> dict[str, Any]:
    """Return how many conversations the job has created so far, and why it dropped the rest."""
    events = JobEvent.objects.filter(job=job, attempt=job.attempt, kind="progress", data__has_key="kept")
    data = events.order_by("-id").values_list("data", flat=True).first() or {}
    return {"created": data.get("kept"), "drops": drops(data.get("dropped", {}))}


def reload_page() -> HttpResponse:
    """Make the browser reload the whole page, which has changed."""
    return HttpResponse(headers={"HX-Refresh": "true"})


DATASETS_PER_PAGE = 25


MOST_VERSIONS = 1_000


@dataclass(frozen=True)
class DatasetRow:
    """A dataset in the list; `depth` counts the versions above it."""

    dataset: Dataset
    mix: Mix | None
    depth: int = 0

    @property
    def indent(self) -> int:
        return min(self.depth, 4)


@in_project(Action.VIEW)
@require_GET
def datasets(request: Any) -> HttpResponse:
    every = Dataset.objects.filter(project=request.project).select_related("job__created_by")
    roots = Q(parent=None) | Q(parent__deleted_at__isnull=False)
    page = Paginator(every.filter(roots), DATASETS_PER_PAGE).get_page(request.GET.get("page"))
    versions: dict[int, list[Dataset]] = defaultdict(list)
    for one in every.exclude(roots)[:MOST_VERSIONS]:
        versions[one.parent_id].append(one)
    found = [each for root in page for each in family(root, versions)]
    return render(request, "trajectories/datasets.html", {"page": page, "datasets": found})


def family(dataset: Dataset, versions: Mapping[int, list[Dataset]], depth: int = 0) -> Iterator[DatasetRow]:
    """Yield a dataset and its versions below it, newest first, each with its own."""
    yield DatasetRow(dataset, mix(dataset.job.result), depth)
    for one in versions.get(dataset.pk, ()):
        yield from family(one, versions, depth + 1)
