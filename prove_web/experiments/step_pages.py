"""The page of a step's rollouts, in groups or as one list, with filters and sorting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, isfinite, sqrt
from statistics import fmean
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.templatetags.kit import icon
from training_worker.store.query import StepTable
from training_worker.store.record import COMPONENTS

from .detail import run_of
from .groups import EQUAL, Group, member_of
from .models import Run
from .reward_config import describe_reward
from .rollout_pages import neighbours
from .rollouts import NoRollouts, examples_of, groups_in, table_of
from .step_form import StepForm, order_of

# Group statistics of a step, for sorting and for the summary.


@dataclass(frozen=True)
class Stat:
    """Numeric summary of one group of the step."""

    number: int
    rewards: tuple[float, ...]
    size: int

    @cached_property
    def void(self) -> bool:
        return len(self.rewards) < self.size

    @cached_property
    def mean(self) -> float:
        return fmean(self.rewards) if self.rewards else 0.0

    @cached_property
    def spread(self) -> float:
        """Return the standard deviation; `statistics` uses fractions, which is too slow for a large step."""
        return sqrt(fsum((reward - self.mean) ** 2 for reward in self.rewards) / max(1, len(self.rewards)))

    @property
    def silent(self) -> bool:
        return not self.void and self.spread <= EQUAL


def stats_of(table: StepTable) -> list[Stat]:
    found: dict[int, list[float | None]] = {}
    for number, reward in zip(table.column("group"), table.column("reward"), strict=True):
        found.setdefault(number, []).append(reward)
    return [
        Stat(number, tuple(one for one in rewards if one is not None and isfinite(one)), len(rewards))
        for number, rewards in found.items()
    ]


def sort_groups(stats: list[Stat], sort: str) -> list[Stat]:
    match sort:
        case "spread":
            return sorted(stats, key=lambda group: -group.spread)
        case "best":
            return sorted(stats, key=lambda group: -group.mean)
        case "worst":
            return sorted(stats, key=lambda group: group.mean)
    return stats


def summary(stats: list[Stat]) -> dict[str, Any]:
    scored = [group for group in stats if not group.void]
    rewards = [reward for group in scored for reward in group.rewards]
    silent = sum(group.silent for group in scored)
    return {
        "rollouts": sum(group.size for group in stats),
        "groups": len(stats),
        "void": len(stats) - len(scored),
        "scored": len(scored),
        "silent": silent,
        "silent_share": silent / len(scored) if scored else None,
        "mean": fmean(rewards) if rewards else None,
        "spread": fmean(group.spread for group in scored) if scored else None,
    }


GROUPS, ROWS = 8, 50  # per page
SORTS = {
    "asked": "Original order",
    "spread": "Highest reward std",
    "best": "Highest reward",
    "worst": "Lowest reward",
}
HEADINGS = (
    ("index", "Rollout"),
    ("", "Conversation"),
    ("reward", "Reward"),
    ("advantage", "Advantage"),
    *((name, name.capitalize()) for name in COMPONENTS),
    ("calls", "Calls"),
    ("", "Finish reason"),
    ("model_tokens", "Tokens"),
)


@in_project(Action.VIEW)
@require_safe
def rollouts(request: ProjectRequest, run: int, step: int) -> HttpResponse:
    """Show the rollouts.

    `view=list` is one list sorted by a column; otherwise `sort` and `only=signal` apply to groups. StepForm filters.
    """
    found, form = run_of(request.project, run), StepForm(request.GET)
    context: dict[str, Any] = {"run": found, "step": step, "around": neighbours(found, step), "sorts": SORTS}
    context["scored_by"] = describe_reward(found.config.get("reward"))
    try:
        table = table_of(found, step)
    except NoRollouts as error:
        return render(request, "experiments/rollouts.html", context | {"why": str(error)}, status=404)
    narrowing, stats = form.rollout_filter, stats_of(table)
    matching = table.filter_rollouts(narrowing)
    flat, sort, only = request.GET.get("view") == "list", request.GET.get("sort", ""), request.GET.get("only")
    context |= {
        "form": form,
        "narrowed": bool(narrowing),
        "summary": summary(stats),
        "matching": len(matching),
        "flat": flat,
        "formats": {"csv": "CSV", "jsonl": "JSON lines"},
        "only": only == "signal" and not flat,
        "scale": found.config.get("scale_rewards", "none"),
        "tools": sorted({name for names in table.column("tools") for name in names if name}),
    }
    if flat:
        context |= build_list_context(matching, sort, request.GET.get("page"))
    else:
        page = page_of(sort_groups(stats, sort), matching, only == "signal", request.GET.get("page"))
        context |= {"page": page, "groups": groups_on(page, table, matching if narrowing else None, found)}
        context["sort"] = sort if sort in SORTS else "asked"
        context |= {"here": request.path, "marks": {"done": icon("check"), "failed": icon("x")}}
    return render(request, "experiments/rollouts.html", context, status=422 if form.errors else 200)


def page_of(stats: list[Stat], matching: StepTable, signal: bool, number: str | None) -> Page[Stat]:
    """Return a page of the groups with matching rollouts, without zero-variance groups if `signal` is set."""
    having = set(matching.column("group"))
    listed = [group for group in stats if group.number in having and not (signal and group.silent)]
    return Paginator(listed, GROUPS).get_page(number)


def groups_on(page: Page[Stat], table: StepTable, matching: StepTable | None, run: Run) -> list[Group]:
    numbers = [stat.number for stat in page]
    only = None if matching is None else frozenset(matching.of_groups(numbers).column("index"))
    made = {group.number: group for group in groups_in(table.of_groups(numbers), run)}
    known = examples_of(run, [group.name for group in made.values()])
    return [replace(made[number], example=known.get(made[number].name), only=only) for number in numbers]


def build_list_context(matching: StepTable, sort: str, number: str | None) -> dict[str, Any]:
    """Return one page of the list, and its sort order."""
    by, falling = order_of(sort)
    table = matching.sort_rows(by, falling)
    page = Paginator(range(len(table)), ROWS).get_page(number)
    rows = table.list_summaries(max(page.start_index() - 1, 0), ROWS) if len(table) else []
    return {
        "page": page,
        "members": [member_of(row) for row in rows],
        "sort": f"-{by}" if falling else by,
        "headings": headings(f"-{by}" if falling else by),
        "components": COMPONENTS,
    }


def headings(sort: str) -> list[dict[str, str]]:
    """Return for each column its current sort direction and the sort key of a click; numbers sort descending first."""
    found = []
    for name, title in HEADINGS:
        now = {name: "ascending", f"-{name}": "descending"}.get(sort, "") if name else ""
        first, second = (name, f"-{name}") if name == "index" else (f"-{name}", name)
        found.append({"name": name, "title": title, "now": now, "next": second if sort == first else first})
    return found
