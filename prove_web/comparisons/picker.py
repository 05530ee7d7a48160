"""The run picker of a comparison: search for runs, and the link behind each choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q

from prove_web.accounts.models import Project
from prove_web.core.parse_int import parse_digits
from prove_web.experiments.charts import MOST_COMPARED
from prove_web.experiments.models import Run

from .groups import build_single_run_groups, groups
from .params import ComparisonParams, declared_base

FOUND = 12


@dataclass(frozen=True)
class Chip:
    """A selected run with the query strings that change the selection, "" where impossible; `colour` is its line's."""

    run: Run
    colour: int
    base: bool
    remove: str
    up: str
    down: str
    against: str


def chips(selection: ComparisonParams) -> list[Chip]:
    last, colours = len(selection.runs) - 1, colour_of(selection)
    return [
        Chip(
            run,
            colours[run.pk],
            run == selection.base,
            selection.remove_run(run).address,
            selection.move(run, -1).address if at else "",
            selection.move(run, 1).address if at < last else "",
            selection.replace_baseline(run).address if run != selection.base else "",
        )
        for at, run in enumerate(selection.runs)
    ]


def colour_of(selection: ComparisonParams) -> dict[int, int]:
    """Return the number of each run's line among the drawn lines, by the run's primary key."""
    lots = groups(selection.runs) if selection.grouped else build_single_run_groups(selection.runs)
    return {run.pk: lot.number for lot in lots for run in lot.runs}


def search_runs(project: Project, selection: ComparisonParams, words: str) -> list[tuple[Run, str]]:
    """Return matching runs that are not selected yet, and the query string that adds each.

    Every word must occur in the name, number, dataset, tags, sweep or creator. Pinned runs come first, then the newest;
    archived runs are found only by number.
    """
    rows = Run.objects.filter(project=project, deleted_at=None).exclude(pk__in=[run.pk for run in selection.runs])
    for word in words.split()[:8]:
        rows = rows.filter(match_word(word))
    if parse_digits(words.strip().removeprefix("#")) is None:
        rows = rows.filter(archived_at=None)
    light = rows.select_related("job", "dataset").defer("config", "notes", "job__spec", "job__result")
    return [(run, build_query_with_runs(selection, [run])) for run in light.order_by("-pinned", "-number")[:FOUND]]


def match_word(word: str) -> Q:
    found = Q(name__icontains=word) | Q(dataset__name__icontains=word) | Q(job__created_by__username__icontains=word)
    found |= Q(tags__icontains=word) | Q(sweep__name__icontains=word)
    number = parse_digits(word.removeprefix("#"))
    return found if number is None else found | Q(number=number)


def build_query_with_runs(selection: ComparisonParams, runs: Sequence[Run]) -> str:
    """Return the query string with these runs added; "" where the limit is reached."""
    joined = (*selection.runs, *runs)
    base = selection.base if selection.base != declared_base(selection.runs) else declared_base(joined)
    return replace(selection, runs=joined, base=base).address if len(joined) <= MOST_COMPARED else ""


def suggest_comparisons(project: Project) -> list[tuple[str, str]]:
    """Return suggested comparisons as (title, query string): the newest runs, and those of the newest sweep."""
    runs = Run.objects.filter(project=project, deleted_at=None, archived_at=None).only(
        "number", "sweep_id", "project_id", "base_id", "pinned"
    )
    newest = list(runs.order_by("-number")[:3])[::-1]
    found = (
        [(f"Newest {len(newest)} runs", build_query_with_runs(ComparisonParams(), newest))] if len(newest) > 1 else []
    )
    swept: Any = runs.exclude(sweep=None).select_related("sweep").order_by("-sweep__number", "-number").first()
    if swept is not None:
        members = list(runs.filter(sweep=swept.sweep_id).order_by("number")[:MOST_COMPARED])
        found += [(f"Runs of sweep {swept.sweep.name}", build_query_with_runs(ComparisonParams(), members))]
    return found
