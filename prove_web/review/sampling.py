"""Sampling of search results for a queue; the same seed draws the same trajectories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import models
from django.db.models import Q, QuerySet

from mcp_servers.core.rng import Draw
from prove_web.experiments.models import Run
from prove_web.experiments.tools import tools_of
from prove_web.trajectories.models import Trajectory
from training_worker.reward import PAPER

from .models import Item
from .schema import ACCEPT, REJECT

MOST_ITEMS = 20_000
FEWEST_CALLS = 5  # of a tool in a run, below which its failure rate says nothing
HALF = PAPER.largest / 2  # the least reward that speaks for a trajectory


class SamplingMethod(models.TextChoices):
    """Ways to sample the items."""

    ALL = "all", "All"
    RANDOM = "random", "Random"
    STRATIFIED = "stratified", "Stratified random"
    DISAGREEMENTS = "disagreements", "Disagreements: in conflict in a queue, or reviewers against the reward"
    FAILING = "failing", "Most failing tools of a run"


class StratificationKey(models.TextChoices):
    """Groups of a stratified sample."""

    KIND = "kind", "kind"
    SERVER = "server", "server"
    STEPS = "steps", "number of steps"


@dataclass(frozen=True)
class Sampling:
    """A sampling rule: at most `n`, in groups `by`, drawn by `seed`, with the failures of `run`."""

    how: SamplingMethod
    n: int = MOST_ITEMS
    by: StratificationKey | None = None
    seed: int = 0
    run: int | None = None


@dataclass(frozen=True)
class Row:
    """The properties of a trajectory that rules use."""

    pk: int
    kind: str
    steps: int
    servers: tuple[str, ...]
    tools: tuple[str, ...]


def sample(rows: QuerySet[Trajectory], rule: Sampling, project: object) -> list[int]:
    """Return the ids of the sampled trajectories, in the order of review."""
    most = min(rule.n, MOST_ITEMS)
    rows = rows.filter(build_disputed_filter(project)) if rule.how == SamplingMethod.DISAGREEMENTS else rows
    if rule.how in (SamplingMethod.ALL, SamplingMethod.DISAGREEMENTS):
        return list(rows.order_by("pk").values_list("pk", flat=True).distinct()[:most])
    found = list(read(rows))
    draw = Draw("queue", rule.how, rule.seed)
    if rule.how == SamplingMethod.RANDOM:
        return [row.pk for row in draw.sample(found, most)]
    if rule.how == SamplingMethod.STRATIFIED:
        return [row.pk for row in draw_stratified_sample(found, rule.by, most, draw)]
    rates = failure_rates(Run.objects.filter(project=project, number=rule.run).first())
    return [row.pk for row in rank_by_failure_rate(draw.shuffle_items(found), rates)[:most]]


def read(rows: QuerySet[Trajectory]) -> Iterable[Row]:
    names = ("pk", "kind", "steps", "servers", "tools")
    for pk, kind, steps, servers, tools in rows.order_by("pk").values_list(*names).distinct():
        yield Row(pk, kind, steps, split(servers), split(tools))


def split(names: str) -> tuple[str, ...]:
    return tuple(filter(None, names.split(",")))


def groups_of(row: Row, by: StratificationKey | None) -> tuple[str, ...]:
    if by == StratificationKey.SERVER:
        return row.servers or ("",)
    return (f"{row.steps:05}",) if by == StratificationKey.STEPS else (row.kind,)


def draw_stratified_sample(rows: Sequence[Row], by: StratificationKey | None, most: int, draw: Draw) -> list[Row]:
    """Return one row of each group in turn; a trajectory of several servers is in each group but is taken once."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for name in groups_of(row, by):
            groups[name].append(row)
    waiting = {name: draw.shuffle_items(groups[name]) for name in sorted(groups)}
    taken: dict[int, Row] = {}
    while waiting and len(taken) < most:
        for name in list(waiting):
            while waiting[name] and waiting[name][-1].pk in taken:
                waiting[name].pop()
            if not waiting[name]:
                del waiting[name]
            elif len(taken) < most:
                row = waiting[name].pop()
                taken[row.pk] = row
    return list(taken.values())


def build_disputed_filter(project: object) -> Q:
    """Match trajectories that people judge differently from each other or from the reward.

    The latter are accepted ones below half of the largest reward, and rejected ones at or above it.
    """
    items = Item.objects.filter(queue__project=project)
    conflict = items.filter(state=Item.State.CONFLICT)
    settled = items.filter(state=Item.State.SETTLED)
    low = settled.filter(verdict=ACCEPT, trajectory__reward__lt=HALF)
    high = settled.filter(verdict=REJECT, trajectory__reward__gte=HALF)
    keys = [rows.values("trajectory_id") for rows in (conflict, low, high)]
    return Q(pk__in=keys[0]) | Q(pk__in=keys[1]) | Q(pk__in=keys[2])


def failure_rates(run: Run | None) -> dict[str, float]:
    """Return the failure rate of each tool in a run that was called often enough."""
    if run is None:
        return {}
    return {tool.tool: tool.share for tool in tools_of(run) if tool.calls >= FEWEST_CALLS and tool.failures}


def rank_by_failure_rate(rows: Sequence[Row], rates: dict[str, float]) -> list[Row]:
    """Return the rows with a failing tool, by the rate of the worst one."""
    failing = [row for row in rows if any(tool in rates for tool in row.tools)]
    return sorted(failing, key=lambda row: -max(rates.get(tool, 0.0) for tool in row.tools))
