"""Tool calls of a run: count, failures, and the change of the failure rate since the first tenth of the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from mcp_servers.catalogue import TOOLS as CATALOGUE
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.evaluation.intervals import wilson
from training_worker.monitoring.event_data import readable_metric
from training_worker.monitoring.metrics import TOOLS

from .chance import Difference, of_scores
from .detail import run_of
from .models import Run

PART = 10  # the first and the last tenth of the steps are compared
COLUMNS = (
    ("tool", "Tool"),
    ("server", "Server"),
    ("calls", "Calls"),
    ("failures", "Failures"),
    ("share", "Failure rate"),
    ("first", "First tenth"),
    ("newest", "Last tenth"),
    ("change", "Change"),
)
DEFAULT = "-failures"
WORST = 5  # worst tools offered for additional data


@dataclass(frozen=True)
class Tool:
    """One tool's line; rates are None where it was not called."""

    tool: str
    server: str
    calls: int
    failures: int
    first: float | None
    newest: float | None
    moved: Difference | None = None

    @property
    def share(self) -> float:
        return self.failures / self.calls

    @property
    def change(self) -> float | None:
        return None if self.first is None or self.newest is None else self.newest - self.first

    @property
    def tone(self) -> str:
        """Return good or bad where the change of the failure rate is significant, else even."""
        return self.moved.tone("less") if self.moved else "even"


class Count:
    """Calls and failures by tool."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.failures: dict[str, int] = {}

    def add(self, tools: Mapping[str, tuple[int, int]]) -> None:
        for name, (calls, failures) in tools.items():
            self.calls[name] = self.calls.get(name, 0) + calls
            self.failures[name] = self.failures.get(name, 0) + failures

    def rate(self, name: str) -> float | None:
        return self.failures[name] / self.calls[name] if self.calls.get(name) else None

    def compute_rate_difference(self, other: Count, name: str) -> Difference | None:
        """Return the difference of the failure rate from another's with its interval; None if either has no calls."""
        scores = [wilson(one.rate(name) or 0.0, one.calls.get(name, 0)) for one in (other, self)]
        count = min(one.calls.get(name, 0) for one in (other, self))
        return of_scores(scores[0], scores[1], count) if scores[0] and scores[1] else None


def tools_of(run: Run) -> list[Tool]:
    """Return a line for every called tool, including names that are not tools."""
    stored = run.points.filter(metrics__has_key=TOOLS).values_list(f"metrics__{TOOLS}", flat=True)
    readable = [one for one in stored if readable_metric(TOOLS, one)]
    size = max(1, len(readable) // PART)
    overall, first, newest = count(readable), count(readable[:size]), count(readable[-size:])
    return [
        Tool(
            name,
            server_of(name),
            calls,
            overall.failures[name],
            first.rate(name),
            newest.rate(name),
            newest.compute_rate_difference(first, name),
        )
        for name, calls in overall.calls.items()
    ]


def count(metrics: Iterable[Mapping[str, Any]]) -> Count:
    found = Count()
    for tools in metrics:
        found.add(tools)
    return found


def server_of(tool: str) -> str:
    return str(CATALOGUE[tool][0].name) if tool in CATALOGUE else ""


def sort_tools(tools: list[Tool], sort: str) -> list[Tool]:
    """Sort by a column, descending with a leading minus; missing values come last in both directions."""
    name = sort.removeprefix("-")
    value: Callable[[Tool], Any] = lambda tool: getattr(tool, name)  # noqa: E731
    known = [tool for tool in tools if value(tool) is not None]
    known.sort(key=lambda tool: tool.tool)
    known.sort(key=value, reverse=sort.startswith("-"))
    return known + [tool for tool in tools if value(tool) is None]


@in_project(Action.VIEW)
@require_safe
def run_tools(request: ProjectRequest, run: int) -> HttpResponse:
    """Show the tool table; for htmx only the table. `?sort=-calls`."""
    found, sort = run_of(request.project, run), request.GET.get("sort", DEFAULT)
    if sort.removeprefix("-") not in dict(COLUMNS):
        sort = DEFAULT
    tools = tools_of(found)
    context = {
        "run": found,
        "tools": sort_tools(tools, sort),
        "most": max((tool.calls for tool in tools), default=1),
        "columns": [column(key, title, sort) for key, title in COLUMNS],
        "sort": sort,
        "worst": [tool.tool for tool in sort_tools(tools, DEFAULT) if tool.server and tool.failures][:WORST],
        "started": found.points.exists() if not tools else True,
    }
    return render(request, f"experiments/{'tools_table' if request.htmx else 'tools'}.html", context)


def column(key: str, title: str, sort: str) -> dict[str, str]:
    """Return a column heading: current sort direction, and the sort key of a click."""
    now = {key: "ascending", f"-{key}": "descending"}.get(sort, "")
    first, second = (key, f"-{key}") if key in ("tool", "server") else (f"-{key}", key)
    return {"key": key, "title": title, "now": now, "next": second if sort == first else first}
