"""Data sets made of others: of what was found, by a split, by a mix; and what a version changed."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, in_project
from prove_web.live.models import CURATE, State

from .changes import changes
from .curate_forms import Mix, NewVersion, Split
from .models import Dataset
from .selecting import JUDGED, selected
from .versions import NotMade, launch, make_version

SHOWN = 200  # ids of a kind of change on the page


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def version_new(request: Any) -> HttpResponse:
    """A data set of what an address speaks of: what a search found, or what a queue settled on."""
    selection = selected(request.project, request.GET)
    form = NewVersion(request.POST or None, initial={"name": selection.name[:80]})
    context = {"form": form, "selection": selection, "count": selection.rows.count(), "judged": JUDGED}
    if request.method == "POST" and form.is_valid() and not selection.fault:
        try:
            return redirect(
                make_version(
                    request.project,
                    request.user,
                    form.cleaned_data["name"],
                    selection.rows,
                    parent=selection.dataset,
                    origin=selection.told,
                    demonstrations=bool(selection.queue),
                )
            )
        except NotMade as why:
            form.add_error(None, str(why))
    return render(request, "trajectories/version_new.html", context, status=422 if form.errors else 200)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def split(request: Any, dataset: int) -> HttpResponse:
    """A data set with a share of another held out."""
    source = made(request.project, dataset)
    form = Split(request.POST or None, initial={"name": f"{source.name}, split"[:80]})
    if request.method == "POST" and form.is_valid():
        chosen = list(source.trajectories.order_by("pk").values_list("pk", flat=True))
        spec = {CURATE: {"how": "split", **form.asked}}
        origin = {"split": source.number, **form.asked}
        try:
            if source.holds != Dataset.Holds.DEMONSTRATIONS:
                raise NotMade("Attempts are not split: they keep the side of what they were asked.")
            name = form.cleaned_data["name"]
            return redirect(launch(request.project, request.user, name, spec, chosen, parent=source, origin=origin))
        except NotMade as why:
            form.add_error(None, str(why))
    context = {"form": form, "dataset": source}
    return render(request, "trajectories/split.html", context, status=422 if form.errors else 200)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def mix(request: Any) -> HttpResponse:
    """A data set of several, by weight."""
    form = Mix(request.project, request.POST or None)
    if request.method == "POST" and form.is_valid():
        found = form.cleaned_data
        spec = {"how": "mix", "sets": form.weights, "seed": found["seed"], "train": found["most"]}
        origin = {"mix": form.weights, "seed": found["seed"]}
        try:
            rest = {"chosen": [], "origin": origin, "size": form.size}
            return redirect(launch(request.project, request.user, found["name"], {CURATE: spec}, **rest))
        except NotMade as why:
            form.add_error(None, str(why))
    return render(request, "trajectories/mix.html", {"form": form}, status=422 if form.errors else 200)


@in_project(Action.VIEW)
@require_safe
def dataset_changes(request: Any, dataset: int) -> HttpResponse:
    """What this data set has that its parent, or another that is asked for, has not."""
    found = made(request.project, dataset)
    asked = request.GET.get("with", "")
    before = made(request.project, int(asked)) if asked.isdecimal() and len(asked) < 10 else found.parent
    if before is None or before == found:
        others = Dataset.objects.filter(project=request.project, job__state=State.DONE).exclude(pk=found.pk)
        return render(request, "trajectories/changes.html", {"dataset": found, "others": others[:50]})
    context = {"dataset": found, "before": before, "changes": changes(found, before), "shown": SHOWN}
    return render(request, "trajectories/changes.html", context)


def made(project: Project, number: int) -> Dataset:
    """A data set that is whole. Raises Http404."""
    found = get_object_or_404(
        Dataset.objects.select_related("job", "parent__job", "project__organisation"), project=project, number=number
    )
    if found.job.state != State.DONE or not found.trajectories.exists():
        raise Http404(f"Data set {number} is not made yet.")
    return found
