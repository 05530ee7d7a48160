"""List of all tools: searched by words and marks, sorted; the URL holds the parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from prove_web.accounts.models import Project
from prove_web.environments.enabled_servers import list_enabled_servers
from prove_web.experiments.models import Run
from prove_web.trajectories.models import Dataset

from . import usage
from .catalogue import MARKS, Entry, search
from .listing import build_sort_state
from .views.parts import read_search_param

COLUMNS = {
    "tool": "Tool",
    "server": "Server",
    "kind": "Kind",
    "used": "Used",
    "success": "Success",
    "takes": "Input IDs",
    "gives": "Output IDs",
    "sensitive": "Sensitive",
}
KINDS = list(MARKS)
USED = {"yes": "Used in the dataset", "no": "Not used"}


@dataclass(frozen=True)
class Row:
    """A tool; `used` conversations of the selected dataset call it, `success` is its rate in the last run."""

    entry: Entry
    used: int | None
    calls: int
    success: float | None


@dataclass(frozen=True)
class ToolListParams:
    """URL parameters of the list. Invalid ones are ignored."""

    text: str
    server: str
    kind: str
    takes: str
    gives: str
    sensitive: bool
    used: str
    data: str
    sort: str

    @classmethod
    def from_request(cls, request: HttpRequest, servers: tuple[str, ...]) -> ToolListParams:
        one = {
            name: read_search_param(request, name)
            for name in ("server", "kind", "takes", "gives", "used", "data", "sort")
        }
        return cls(
            text=read_search_param(request, "q"),
            server=one["server"] if one["server"] in servers else "",
            kind=one["kind"] if one["kind"] in MARKS else "",
            takes=one["takes"],
            gives=one["gives"],
            sensitive=read_search_param(request, "sensitive") == "1",
            used=one["used"] if one["used"] in USED else "",
            data=one["data"],
            sort=one["sort"] if one["sort"].removeprefix("-") in COLUMNS else "",
        )

    @property
    def more(self) -> int:
        """The number of active filters in the collapsed section."""
        return sum(bool(each) for each in (self.takes, self.gives, self.sensitive, self.used, self.data))

    def entries(self, servers: tuple[str, ...]) -> list[Entry]:
        found = search(self.text, self.kind, [self.server] if self.server else servers)
        return [
            entry
            for entry in found
            if (not self.takes or self.takes in (*entry.takes, *entry.may_take))
            and (not self.gives or self.gives in entry.gives)
            and (not self.sensitive or entry.sensitive)
        ]


ORDERS: dict[str, Callable[[Row], Any]] = {
    "tool": lambda row: row.entry.name,
    "server": lambda row: row.entry.server,
    "kind": lambda row: KINDS.index(row.entry.mark),
    "takes": lambda row: row.entry.takes or None,
    "gives": lambda row: row.entry.gives or None,
    "sensitive": lambda row: row.entry.sensitive or None,
    "used": lambda row: row.used,
    "success": lambda row: row.success,
}


def sort_rows(rows: list[Row], sort: str) -> list[Row]:
    """Sort the rows; without an order they stay as they are. Missing values come last in either direction."""
    if not sort:
        return rows
    value = ORDERS[sort.removeprefix("-")]
    known = [row for row in rows if value(row) is not None]
    known.sort(key=value, reverse=sort.startswith("-"))
    return known + [row for row in rows if value(row) is None]


def build_tool_list(request: HttpRequest, project: Project) -> tuple[list[Row], dict[str, Any]]:
    """Return the rows that the URL requests, and the rest of the page's context."""
    servers = list_enabled_servers(project)
    params, data, runs = ToolListParams.from_request(request, servers), usage.datasets(project), usage.runs(project)
    chosen: Dataset | None = next((one for one in data if str(one.number) == params.data), data[0] if data else None)
    last: Run | None = runs[0] if runs else None
    held = usage.in_dataset(chosen) if chosen else None
    called = usage.in_run(last) if last else {}
    rows = [row(entry, held, called) for entry in params.entries(servers)]
    if params.used and held is not None:
        rows = [each for each in rows if bool(each.used) == (params.used == "yes")]
    heads = [{"key": key, "title": title, **build_sort_state(key, params.sort)} for key, title in COLUMNS.items()]
    for head in heads:
        if head["key"] in ("used", "success") and not head["now"]:
            head["next"] = f"-{head['key']}"  # descending first
    total = len(search(servers=servers))
    context = {"params": params, "data": data, "chosen": chosen, "last": last, "heads": heads, "total": total}
    return sort_rows(rows, params.sort), context | {"servers": servers, "kinds": MARKS.items(), "useds": USED.items()}


def row(entry: Entry, held: Any, called: usage.Tally) -> Row:
    calls, failures = called.get(entry.name, (0, 0))
    used = held[entry.name] if held is not None else None
    return Row(entry, used, calls, 1 - failures / calls if calls else None)
