"""Versions of each server's tools: recorded when they change, with the changes from one to the next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max, Min

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.accounts.models import Project
from prove_web.trajectories.models import Dataset, Trajectory

from .models import ServerVersion

MAX_LISTED = 10  # versions of one server
Schemas = dict[str, Any]


def schemas(server: str) -> Schemas:
    """Return the description of each tool that clients get."""
    return {
        name: {
            "description": tool.description,
            "input": tool.input_schema,
            "output": tool.output_schema,
            "writes": tool.writes,
            "destructive": tool.destructive,
        }
        for name, tool in SERVERS[server].tools.items()
    }


@transaction.atomic
def record() -> list[str]:
    """Record the servers whose behaviour differs from their newest version. Return their names."""
    newest = ServerVersion.objects.order_by().values("server").annotate(newest=Max("pk")).values("newest")
    known = dict(ServerVersion.objects.filter(pk__in=newest).values_list("server", "fingerprint"))
    now = {name: fingerprint((name,)) for name in SERVERS}
    changed = [name for name in SERVERS if known.get(name) != now[name]]
    ServerVersion.objects.bulk_create(
        ServerVersion(server=name, fingerprint=now[name], schemas=schemas(name)) for name in changed
    )
    return changed


@dataclass(frozen=True)
class ToolChange:
    """A tool that was added, removed or changed; `lines` are its differences as (where, before, now), None if missing.

    `how` is `added`, `removed` or `changed`.
    """

    tool: str
    how: str
    lines: tuple[tuple[str, str | None, str | None], ...] = ()


@dataclass(frozen=True)
class Change:
    """A version of a server compared with the previous one, which the first version lacks.

    Without changes of tools, only the code behind them has changed. `touches` are the project's datasets that were
    created before it, with other code.
    """

    version: ServerVersion
    first: bool
    tools: tuple[ToolChange, ...]
    touches: tuple[Dataset, ...] = ()


def changes(before: Schemas, now: Schemas) -> tuple[ToolChange, ...]:
    """Return the changes from one version's tools to another's: added, removed, changed."""
    added = [ToolChange(name, "added") for name in now if name not in before]
    removed = [ToolChange(name, "removed") for name in before if name not in now]
    same = [name for name in now if name in before and now[name] != before[name]]
    changed = [ToolChange(name, "changed", tuple(diff_schemas(before[name], now[name]))) for name in same]
    return (*added, *removed, *changed)


def diff_schemas(before: Any, now: Any, where: str = "") -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the leaves in which two schemas differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*before, *now)):
            if before.get(key) != now.get(key) or (key in before) != (key in now):
                yield from diff_schemas(before.get(key), now.get(key), f"{where}.{key}" if where else str(key))
    else:
        yield where, text(before), text(now)


def text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def history(server: str, project: Project) -> list[Change]:
    """Return the newest versions of a server, newest first."""
    rows = list(ServerVersion.objects.filter(server=server)[: MAX_LISTED + 1])
    found, made = [], find_datasets(project, server)
    for version, before in zip(rows, [*rows, None][1:], strict=True):
        what = changes(before.schemas, version.schemas) if before else ()
        touches = tuple(one for one, other in made if other and one.created_at < version.seen_at) if before else ()
        found.append(Change(version, before is None, what, touches))
    return found[:MAX_LISTED]


def find_datasets(project: Project, server: str) -> list[tuple[Dataset, bool]]:
    """Return the datasets with this server in a world, and whether its code was different then: three queries.

    One trajectory represents its dataset, which one job created with one version of the code.
    """
    rows = Trajectory.objects.filter_by_project(project).filter(servers__contains=server).order_by()
    firsts = rows.values("dataset").annotate(first=Min("pk")).values_list("first", flat=True)
    trajectories = Trajectory.objects.filter(pk__in=list(firsts)).values_list(
        "dataset", "servers", "record__fingerprint", "dataset__job__created_at"
    )
    other = {
        dataset: print != today(names)
        for dataset, names, print, _ in trajectories
        if server in names.split(",") and print
    }
    sets = Dataset.objects.filter(pk__in=other).select_related("project__organisation").defer("job__result")
    return [(one, other[one.pk]) for one in sets]


def today(names: str) -> str:
    """Return the fingerprint of these servers now; "" if one is missing."""
    servers = names.split(",")
    return fingerprint(servers) if all(name in SERVERS for name in servers) else ""


def counts() -> dict[str, int]:
    """Count the known versions of each server."""
    found = ServerVersion.objects.order_by().values_list("server")
    counted: dict[str, int] = {}
    for (server,) in found:
        counted[server] = counted.get(server, 0) + 1
    return counted
