"""Colours of the picture: by kind of tool and edge, or by what a dataset or runs show of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.http import HttpRequest

from prove_web.accounts.models import Project
from prove_web.experiments.models import Run
from prove_web.experiments.tools import Tool, tools_of
from prove_web.trajectories.models import Dataset, Trajectory
from training_worker.monitoring.metrics import TOOLS

from ..catalogue import MARKS, entries
from ..graph_queries import Edge, Names, Node, Proven
from ..views.parts import read_search_param
from . import legend
from .legend import Swatch

# Coverage: how many conversations of a dataset call each tool, and how many use each edge.

BATCH = 500


@dataclass(frozen=True)
class Coverage:
    """Counts of conversations, of `examples` in all."""

    examples: int
    tools: Counter[str]
    edges: Counter[Names]


def coverage(dataset: Dataset) -> Coverage:
    """Return the coverage of a dataset; cached, because its contents do not change."""
    return count_coverage(dataset.pk, dataset.trajectories.count())


@lru_cache(maxsize=8)
def count_coverage(dataset: int, examples: int) -> Coverage:
    """Count a conversation for an edge if a step of its ground truth needs what an earlier step returned."""
    rows = Trajectory.objects.filter(dataset_id=dataset).exclude(tools="").order_by()
    tools, edges = Counter[str](), Counter[Names]()
    for named, needs, steps in rows.values_list("tools", "record__edges", "record__steps").iterator(BATCH):
        tools.update({*named.split(",")})
        calls = [[call["name"] for call in step["calls"]] for step in steps]
        edges.update({(a, b) for giver, taker in needs for a in calls[giver] for b in calls[taker]})
    return Coverage(examples, tools, edges)


OFFERED = 100  # datasets and runs to choose from, newest first
MARK_LOOKS = dict(zip(MARKS, (legend.READ, legend.WRITE, legend.DESTRUCTIVE), strict=True))


@dataclass(frozen=True)
class Paint:
    """Look of each tool and edge as an index in a list of looks, with texts about tools and what is missing.

    A tool or an edge that is not named has the first look of its list.
    """

    tool_looks: tuple[Swatch, ...]
    edge_looks: tuple[Swatch, ...]
    tools: Mapping[str, int] = field(default_factory=dict)
    edges: Mapping[Names, int] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    lacks: str = ""


@dataclass(frozen=True)
class Choice:
    """A choice for the colours: its field, label, options, and the selected one."""

    name: str
    label: str
    options: tuple[tuple[int, str], ...]
    chosen: Any = None


def choices(request: HttpRequest, project: Project, by: str) -> list[Choice]:
    """Return the choices for these colours; the newest dataset or runs are selected unless the URL names others."""
    if by == "coverage":
        rows = list(Dataset.objects.filter(project=project, trajectories__isnull=False).distinct()[:OFFERED])
        return [choice(request, "dataset", "Dataset", rows, 0)]
    if by in ("success", "drift"):
        with_calls = Run.objects.filter(project=project, points__metrics__has_key=TOOLS).distinct()
        rows = list(with_calls.select_related("job")[:OFFERED])
        both = [choice(request, "run", "Run", rows, 0), choice(request, "against", "Baseline", rows, 1)]
        return both if by == "drift" else both[:1]
    return []


def choice(request: HttpRequest, name: str, label: str, rows: list[Any], place: int) -> Choice:
    current = read_search_param(request, name)
    named = next((each for each in rows if str(each.number) == current), None)
    options = tuple((each.number, f"{each.number}: {each}") for each in rows)
    return Choice(name, label, options, named or next(iter(rows[place:]), None))


def paint(proven: Proven, by: str, chosen: list[Choice]) -> Paint:
    """Return the colours of the picture."""
    things = [each.chosen for each in chosen]
    if by == "coverage":
        lacks = "No dataset of this project has conversations yet."
        return by_coverage(proven, things[0]) if things[0] else unknown(lacks)
    if by == "success":
        return by_success(things[0]) if things[0] else unknown("No run of this project has logged calls by tool yet.")
    if by == "drift":
        lacks = "Requires two runs with calls logged by tool."
        return by_drift(*things) if all(things) else unknown(lacks)
    return by_kind(proven)


def unknown(lacks: str) -> Paint:
    return Paint((legend.UNCALLED,), (legend.EDGE,), lacks=lacks)


def by_kind(proven: Proven) -> Paint:
    looks, marks = tuple(MARK_LOOKS.values()), list(MARK_LOOKS)
    kinds = (legend.FOUND, legend.CREATED, legend.PLAIN, legend.IMPLICIT)
    return Paint(
        looks,
        kinds,
        {node.name: marks.index(mark_of(node)) for node in proven.nodes},
        {edge.names: kinds.index(look_of(edge)) for edge in proven.edges},
    )


def mark_of(node: Node) -> str:
    """Return the mark of a tool as in lists; for one that is gone from the catalogue, the mark in the graph."""
    known = entries().get(node.name)
    return known.mark if known else "write" if node.writes else "read"


def look_of(edge: Edge) -> Swatch:
    if edge.implicit:
        return legend.IMPLICIT
    return legend.PLAIN if edge.plain else legend.CREATED if edge.created else legend.FOUND


def by_coverage(proven: Proven, dataset: Dataset) -> Paint:
    found = coverage(dataset)
    of_tools = legend.quarters([found.tools[name] for name in proven.tools])
    of_edges = legend.quarters([found.edges[names] for names in proven.by_names])
    return Paint(
        legend.amounts(of_tools, "In no conversation"),
        legend.amounts(of_edges, "Not used", edges=True),
        {name: legend.of_amount(of_tools, found.tools[name]) for name in proven.tools},
        {names: legend.of_amount(of_edges, found.edges[names]) for names in proven.by_names},
        {name: f"in {found.tools[name]:,} of {found.examples:,} conversations" for name in proven.tools},
    )


def by_success(run: Run) -> Paint:
    tools = get_called_tools(run)
    return Paint(
        (legend.UNCALLED, *legend.SUCCESS),
        (legend.EDGE,),
        {name: 1 + legend.of_rate(1 - tool.share) for name, tool in tools.items()},
        notes={name: f"{1 - tool.share:.0%} of {tool.calls:,} calls succeed" for name, tool in tools.items()},
    )


def by_drift(run: Run, against: Run) -> Paint:
    ours, theirs = get_called_tools(run), get_called_tools(against)
    changes = {name: theirs[name].share - ours[name].share for name in ours if name in theirs}
    return Paint(
        (legend.Swatch("Not called in both runs", legend.GREY, size=16, hollow=True), *legend.DRIFT),
        (legend.EDGE,),
        {name: 1 + legend.of_change(change) for name, change in changes.items()},
        notes=dict(drifts(ours, theirs, changes)),
    )


def drifts(
    ours: Mapping[str, Tool], theirs: Mapping[str, Tool], changes: Mapping[str, float]
) -> Iterator[tuple[str, str]]:
    for name, change in changes.items():
        rates = f"{1 - theirs[name].share:.0%} to {1 - ours[name].share:.0%}"
        yield name, f"{rates}, {100 * change:+.1f} points"


def get_called_tools(run: Run) -> dict[str, Tool]:
    """Return the tools that a run called; malformed calls and unknown tools have no place in the graph."""
    return {tool.tool: tool for tool in tools_of(run) if tool.calls and tool.server}
