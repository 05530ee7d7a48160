"""Pages that create datasets from others, by a selection, a split or a mix, and that show what a version changed."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, in_project
from prove_web.live.models import CURATE, State
from prove_web.review.blinding import Blind

from .curate_forms import Mix, NewVersion, Split
from .dataset_diff import changes
from .models import Dataset
from .selection import JUDGED, Selection, select_trajectories
from .versions import InvalidDataset, launch, make_version

MAX_LISTED = 200  # ids of each kind of change on the page


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def version_new(request: Any) -> HttpResponse:
    """Create a dataset of the selection in the URL: the results of a search, or the settled items of a queue."""
    selection = select_trajectories(request.project, request.GET, Blind(request.user, request.project))
    form = NewVersion(request.POST or None, initial={"name": selection.name[:80]})
    context = {"form": form, "selection": selection, "count": selection.rows.count(), "judged": JUDGED}
    if request.method == "POST" and form.is_valid() and not selection.fault:
        try:
            return redirect(version_of(request.project, request.user, form.cleaned_data["name"], selection))
        except InvalidDataset as why:
            form.add_error(None, str(why))
    return render(request, "trajectories/version_new.html", context, status=422 if form.errors else 200)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def split(request: Any, dataset: int) -> HttpResponse:
    """Create a dataset with a share of another held out."""
    source = get_complete_dataset(request.project, dataset)
    form = Split(request.POST or None, initial={"name": f"{source.name}, split"[:80]})
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(split_of(request.project, request.user, form, source))
        except InvalidDataset as why:
            form.add_error(None, str(why))
    context = {"form": form, "dataset": source}
    return render(request, "trajectories/split.html", context, status=422 if form.errors else 200)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def mix(request: Any) -> HttpResponse:
    """Create a dataset of several others, mixed by weight."""
    form = Mix(request.project, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(mix_of(request.project, request.user, form))
        except InvalidDataset as why:
            form.add_error(None, str(why))
    return render(request, "trajectories/mix.html", {"form": form}, status=422 if form.errors else 200)


def version_of(project: Project, user: User, name: str, selection: Selection) -> Dataset:
    """Create the dataset of a selection. Raises InvalidDataset."""
    return make_version(
        project,
        user,
        name,
        selection.rows,
        parent=selection.dataset,
        origin=selection.origin,
        demonstrations=bool(selection.queue),
    )


def split_of(project: Project, user: User, form: Split, source: Dataset) -> Dataset:
    """Create the dataset of a valid form. Raises InvalidDataset."""
    if source.holds != Dataset.ContentKind.DEMONSTRATIONS:
        raise InvalidDataset("Rollouts cannot be split: each keeps the split of its example.")
    chosen = list(source.trajectories.order_by("pk").values_list("pk", flat=True))
    origin = {"split": source.number, **form.options}
    spec = {CURATE: {"how": "split", **form.options}}
    return launch(project, user, form.cleaned_data["name"], spec, chosen, parent=source, origin=origin)


def mix_of(project: Project, user: User, form: Mix) -> Dataset:
    """Create the dataset of a valid form. Raises InvalidDataset."""
    found = form.cleaned_data
    spec = {"how": "mix", "sets": form.weights, "seed": found["seed"], "train": found["most"]}
    origin = {"mix": form.weights, "seed": found["seed"]}
    return launch(project, user, found["name"], {CURATE: spec}, [], origin=origin, size=form.size)


@in_project(Action.VIEW)
@require_safe
def dataset_changes(request: Any, dataset: int) -> HttpResponse:
    """Show what differs between this dataset and its parent, or the one that `?with=` names."""
    found = get_complete_dataset(request.project, dataset)
    number = request.GET.get("with", "")
    before = (
        get_complete_dataset(request.project, int(number)) if number.isdecimal() and len(number) < 10 else found.parent
    )
    if before is None or before == found:
        others = Dataset.objects.complete().filter(project=request.project).exclude(pk=found.pk)
        return render(request, "trajectories/changes.html", {"dataset": found, "others": others[:50]})
    context = {"dataset": found, "before": before, "changes": changes(found, before), "most": MAX_LISTED}
    return render(request, "trajectories/changes.html", context)


def get_complete_dataset(project: Project, number: int) -> Dataset:
    """Return a complete dataset. Raises Http404."""
    found = get_object_or_404(
        Dataset.objects.select_related("job", "parent__job", "project__organisation"), project=project, number=number
    )
    if found.job.state != State.DONE or found.loading_at or not found.trajectories.exists():
        raise Http404(f"Dataset {number} is not complete yet.")
    return found
