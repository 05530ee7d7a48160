"""Tool outcome heat map of a run over a range of steps, and its change from another range."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Max, Min
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits
from prove_web.environments.enabled_servers import list_enabled_servers
from training_worker.environment.outcomes import MEANING, OUTCOMES
from training_worker.store.parquet import DamagedFile
from training_worker.store.steps import read_outcomes
from training_worker.store.storage import StorageFailed

from .detail import run_of
from .models import RolloutGroup, Run, StepRollouts
from .rollout_index import OUTCOME_KEY, UNTRIED, count_outcomes, needed_by, with_untried
from .rollout_storage import StoredRun
from .tool_outcomes import (
    NOT_A_TOOL,
    TITLES,
    Line,
    Range,
    counts_in,
    filter_lines,
    lines_of,
    list_worst_tools,
    sections,
    sort_lines,
    tenth,
)

# Steps from workers that did not report outcomes are counted from their files, a few at a time.

AT_ONCE = 20  # files read per page request


def recount(run: Run, first: int, last: int) -> int:
    """Count outcomes of a few uncounted steps between `first` and `last`; return how many remain.

    A missing or damaged file leaves its step uncounted.
    """
    waiting = run.stored_steps.filter(outcomes__isnull=True, step__gte=first, step__lte=last)
    for stored in waiting.order_by("?")[:AT_ONCE]:
        count_step(run, stored)
    return int(waiting.count())


def count_step(run: Run, stored: StepRollouts) -> None:
    try:
        words = read_outcomes(StoredRun(run).file(stored.step))
    except (OSError, DamagedFile, StorageFailed):
        return
    rows = list(run.groups.filter(step=stored.step))
    needed = needed_by(run, {row.example for row in rows})
    groups = []
    for row in rows:
        group: dict[str, Any] = {**row.rollouts, "example": row.example}
        group[OUTCOME_KEY] = [list(each) for each in words[row.first - 1 : row.first - 1 + row.size]]
        groups.append(with_untried(group, needed))
        row.rollouts = {name: groups[-1][name] for name in (*row.rollouts, OUTCOME_KEY, UNTRIED)}
    RolloutGroup.objects.bulk_update(rows, ["rollouts"])
    stored.outcomes = count_outcomes(groups)
    stored.save(update_fields=["outcomes"])


WORST = 5  # worst tools offered for additional data
VIEWS = {"shares": "Shares", "counts": "Counts"}
MOST = 10**9  # upper limit of a step number


@in_project(Action.VIEW)
@require_safe
def run_outcomes(request: ProjectRequest, run: int) -> HttpResponse:
    """Show the heat map.

    `?from=1&to=10` are the steps and `&against_from=&against_to=` the steps to compare with; `server`, `q`, `all=1`,
    `sort`, `flat=1` and `view=counts` select the rows and their display.
    """
    found = run_of(request.project, run)
    known = found.stored_steps.aggregate(first=Min("step"), last=Max("step"))
    context: dict[str, Any] = {"run": found, "columns": columns(request.GET), "meaning": meanings(), "views": VIEWS}
    if known["first"] is None:
        return render(request, "experiments/heat.html", context)
    every = Range(known["first"], known["last"])
    steps = parse_range(request.GET, "", every) or every
    against = parse_range(request.GET, "against_", every)
    servers = list_enabled_servers(request.project)
    left, lines = looked_at(found, steps, against, servers)
    tools = filter_lines(
        lines,
        server=request.GET.get("server", ""),
        words=parse_search(request.GET),
        seen=not includes_uncalled_tools(request),
    )
    sort, flat = request.GET.get("sort", ""), bool(request.GET.get("flat"))
    context |= {
        "every": every,
        "steps": steps,
        "against": against,
        "presets": presets(every, steps, against),
        "left": left,
        "sections": [] if flat else sections(tools, sort),
        "lines": sort_lines(tools, sort) if flat else [],
        "matching": len(tools),
        "tools": len([line for line in lines if line.tool]),
        "unseen": len([line for line in lines if not line.has_calls and line.tool]),
        "servers": servers,
        "server": request.GET.get("server", ""),
        "q": parse_search(request.GET),
        "all": includes_uncalled_tools(request),
        "flat": flat,
        "sort": sort,
        "view": "counts" if request.GET.get("view") == "counts" else "shares",
        "worst": list_worst_tools(tools, WORST),
        "search": search(found, steps),
        "not_a_tool": NOT_A_TOOL,
    }
    return render(request, "experiments/heat.html", context)


def looked_at(run: Run, steps: Range, against: Range | None, servers: list[str]) -> tuple[int, list[Line]]:
    """Return the number of steps not counted yet, and every tool's row over the counted ones."""
    left = recount(run, min(steps.first, (against or steps).first), max(steps.last, (against or steps).last))
    return left, lines_of(counts_in(run, steps), counts_in(run, against) if against else None, servers)


def includes_uncalled_tools(request: ProjectRequest) -> bool:
    return bool(request.GET.get("all"))


def parse_search(query: QueryDict) -> str:
    return query.get("q", "").strip()[:80]


def parse_range(query: QueryDict, prefix: str, every: Range) -> Range | None:
    """Return the requested steps, clipped to those there are; None if the query names none. One end is enough."""
    first, last = (step(query.get(f"{prefix}{name}", "")) for name in ("from", "to"))
    if first is None and last is None:
        return None
    low, high = sorted((first if first is not None else every.first, last if last is not None else every.last))
    return Range(clip_step(low, every), clip_step(high, every))


def step(text: str) -> int | None:
    number = parse_digits(text, digits=11)
    return None if number is None else min(number, MOST)


def clip_step(number: int, every: Range) -> int:
    return max(every.first, min(every.last, number))


def presets(every: Range, steps: Range, against: Range | None) -> list[tuple[str, str, bool]]:
    """Return preset ranges as (title, query string, whether it is shown now)."""
    first, last = tenth(every), tenth(every, last=True)
    known: list[tuple[str, Range, Range | None]] = [
        ("Whole run", every, None),
        ("First tenth", first, None),
        ("Last tenth", last, None),
        ("Last vs. first tenth", last, first),
    ]
    return [(title, query(now, before), (now, before) == (steps, against)) for title, now, before in known]


def query(steps: Range, against: Range | None) -> str:
    fields = {"from": steps.first, "to": steps.last}
    if against:
        fields |= {"against_from": against.first, "against_to": against.last}
    return urlencode(fields)


def columns(params: QueryDict) -> list[dict[str, str]]:
    """Return the outcome column headings: current sort direction, and the sort key of a click."""
    now, prefix = params.get("sort", ""), "change-" if params.get("against_from") or params.get("against_to") else ""
    found = []
    for key, title in (("chances", "Chances"), *((prefix + name, TITLES[name]) for name in OUTCOMES)):
        direction = {key: "ascending", f"-{key}": "descending"}.get(now, "")
        about = MEANING.get(key.removeprefix("change-"), "")  # type: ignore[call-overload]
        found.append({"title": title, "now": direction, "next": key if now == f"-{key}" else f"-{key}", "about": about})
    return found


def meanings() -> list[tuple[str, str]]:
    return [(TITLES[name], MEANING[name]) for name in OUTCOMES]


def search(run: Run, steps: Range) -> dict[str, str]:
    """Return the parts of the rollout search URL for a cell: before the tool, and after the outcome."""
    where = reverse("run-rollouts", args=[*run.project.path, run.number])
    return {"where": where, "steps": f"step>={steps.first} step<={steps.last}"}
