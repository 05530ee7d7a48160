"""Lineage of a run as links: from the servers' code through its dataset to its evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils.http import urlencode

from prove_web.environments.versions import today
from prove_web.review.models import Queue
from prove_web.trajectories.lineage import Link, set_link, sources

from .checkpoints import Checkpoint
from .initial_policy import WARM
from .models import Run, RunKind

MOST = 6  # per kind
SHORT = 8  # characters of a digest
OF_RUN = "run:"


@dataclass(frozen=True)
class Lineage:
    """The objects that a run was made from, in order, and those made from it."""

    sources: tuple[Link, ...]
    uses: tuple[Link, ...]


def lineage(run: Run, checkpoints: list[Checkpoint]) -> Lineage:
    return Lineage((*servers(run), *data(run), *begun_from(run)), (*list_run_outputs(run, checkpoints), *children(run)))


def servers(run: Run) -> Iterator[Link]:
    """Yield the servers of its dataset's worlds and their fingerprint, taken from the first trajectory."""
    if run.dataset is None:
        return
    names, identity = run.dataset.trajectories.order_by("id").values_list("servers", "record__fingerprint").first() or (
        "",
        "",
    )
    if not names or not identity:
        return
    label = names if names.count(",") < 2 else f"{names.count(',') + 1} servers"
    changed = today(names) not in ("", identity)
    version = f"behaviour {str(identity)[:SHORT]}" + (", changed since" if changed else "")
    yield Link("Servers", f"{label.replace(',', ', ')}, {version}", reverse("servers", args=run.project.path), "server")


def data(run: Run) -> Iterator[Link]:
    """Yield the dependency graph, the source datasets, the dataset itself, and the review queues that labelled it."""
    if run.dataset is None:
        return
    yield from (one for one in sources(run.dataset) if one.kind != "Created by")
    yield set_link("Dataset", run.dataset, run.project)
    for queue in Queue.objects.filter(project=run.project, source__dataset=run.dataset.number)[:MOST]:
        yield Link("Labels", queue.name, reverse("queue", args=[*run.project.path, queue.number]), "list")


def begun_from(run: Run) -> Iterator[Link]:
    """Yield the initial policy: the shipped one, a model, or one trained by another run."""
    if run.kind == RunKind.OUTSIDE:
        return
    policy = str(run.config.get("policy", WARM))
    if not policy.startswith(OF_RUN):
        yield Link("Initial policy", "shipped warm-start policy" if policy == WARM else policy, "", "cpu")
        return
    job, _, checkpoint = policy.removeprefix(OF_RUN).partition("/")
    parent = Run.objects.filter(project=run.project, job_id=job).only("number", "name").first()
    at = f", {checkpoint.replace('-', ' ')}" if checkpoint else ""
    if parent is None:
        yield Link("Initial policy", f"a deleted run{at}", "", "rocket")
    else:
        yield run_link("Initial policy", run, parent, at)


def list_run_outputs(run: Run, checkpoints: list[Checkpoint]) -> Iterator[Link]:
    if checkpoints:
        steps = ", ".join(str(one.step) for one in reversed(checkpoints[:MOST]))
        yield Link("Checkpoints", f"step {steps}", "#checkpoints", "device-floppy")
    for evaluation in run.evaluations.only("number", "name")[:MOST]:
        url = reverse("evaluation", args=[*run.project.path, evaluation.number])
        yield Link("Evaluation", evaluation.name, url, "target")


def children(run: Run) -> Iterator[Link]:
    """Yield the runs that start from this run's policies, and those with it as baseline, such as clones."""
    started = Q(config__policy__startswith=f"{OF_RUN}{run.job_id}")
    rows = Run.objects.filter(started | Q(base=run), project=run.project, deleted_at=None).order_by("-number")
    for child in rows.only("number", "name", "config", "base_id")[: 2 * MOST]:
        begun = str(child.config.get("policy", "")).startswith(f"{OF_RUN}{run.job_id}")
        yield run_link("Continued in" if begun else "Baseline of", run, child)


def run_link(kind: str, here: Run, run: Run, more: str = "") -> Link:
    return Link(
        kind, f"{run.name} #{run.number}{more}", reverse("run", args=[*here.project.path, run.number]), "rocket"
    )


def begin_here(run: Run, checkpoint: Checkpoint) -> str:
    """Return the URL of the launch form with a checkpoint as the initial policy."""
    query: dict[str, Any] = {"policy": f"{OF_RUN}{run.job_id}/{checkpoint.folder.name}", "clone": run.number}
    return f"{reverse('run-new', args=run.project.path)}?{urlencode(query)}"
