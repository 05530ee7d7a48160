"""A world's tables, and a call's changes in them, for pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from mcp_servers.core.state import as_json
from mcp_servers.world import World


@dataclass(frozen=True)
class RowChange:
    """A row that a call added, changed or removed, with each field's value before and after."""

    server: str
    table: str
    id: str
    how: str
    fields: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class View:
    """A table: its columns, and the rows that contain the search text."""

    server: str
    table: str
    columns: tuple[str, ...]
    rows: list[Any]
    kind: Any

    def format_rows(self, rows: list[Any]) -> list[list[str]]:
        return [list(map(show, as_json(self.kind, row).values())) for row in rows]

    def sort_rows(self, by: str) -> list[Any]:
        """Return the rows sorted by a column, in reverse with `-` before it; unsorted for an unknown name."""
        name = by.removeprefix("-")
        if name not in self.columns:
            return self.rows
        return sorted(self.rows, key=lambda row: place(getattr(row, name)), reverse=by.startswith("-"))


def overview(world: World) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return by server its tables and their numbers of rows."""
    return [
        (name, [(table, len(rows)) for table, rows in session.state.tables().items()])
        for name, session in world.sessions.items()
    ]


def view(world: World, name: str, find: str) -> View:
    """Return the table of this name, such as `banking.accounts`; the first one for an unknown name."""
    known = {f"{server}.{table}": (server, table) for server, tables in overview(world) for table, _ in tables}
    server, table = known.get(name) or next(iter(known.values()))
    state = world.sessions[server].state
    kind, rows = state.row_types()[table], list(state.tables()[table])
    if words := find.lower().split():
        rows = [row for row in rows if all(word in as_words(kind, row) for word in words)]
    columns = tuple(field for field in get_type_hints(kind) if not field.startswith("__"))
    return View(server, table, columns, rows, kind)


def as_words(kind: Any, row: Any) -> str:
    return " ".join(map(show, as_json(kind, row).values())).lower()


def changes(before: World, after: World) -> Iterator[RowChange]:
    """Yield the rows that differ between two moments of a world."""
    for server, session in after.sessions.items():
        then = before.sessions[server].state
        if session.state is not then:
            yield from iter_row_changes(server, session.state.row_types(), session.state.changes_since(then))


def iter_row_changes(
    server: str, types: Mapping[str, Any], changed: Mapping[str, Mapping[str, Any]]
) -> Iterator[RowChange]:
    """Yield row changes by table and id from rows before and after."""
    for table, rows in changed.items():
        for id, (old, new) in rows.items():
            how = "added" if old is None else "removed" if new is None else "changed"
            yield RowChange(server, table, id, how, fields(types[table], old, new))


def differences(one: World, other: World) -> Iterator[RowChange]:
    """Yield the rows that differ between any two worlds, on the servers that both have."""
    for server, session in other.sessions.items():
        if server not in one.sessions:
            continue
        then, now = one.sessions[server].state.tables(), session.state.tables()
        changed = {table: find_differing_rows(then[table], rows) for table, rows in now.items()}
        yield from iter_row_changes(server, session.state.row_types(), changed)


def find_differing_rows(then: Any, now: Any) -> dict[str, tuple[Any, Any]]:
    """Return by id the rows of two tables that are not equal; None for a missing row."""
    ids = dict.fromkeys([*(row.id for row in then), *(row.id for row in now)])
    pairs = {id: (then.get(id), now.get(id)) for id in ids}
    return {id: (old, new) for id, (old, new) in pairs.items() if old is not new and old != new}


def fields(kind: Any, old: Any, new: Any) -> tuple[tuple[str, str, str], ...]:
    before = as_json(kind, old) if old is not None else {}
    after = as_json(kind, new) if new is not None else {}
    return tuple(
        (name, show(before.get(name)), show(after.get(name)))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    )


def place(value: Any) -> tuple[int, Any]:
    """Return the sort key of a value: null first, then numbers, then other values as text."""
    if value is None:
        return (0, 0)
    if isinstance(value, int):
        return (1, value)
    return (2, str(value).lower() if isinstance(value, str) else str(value))


def show(value: Any) -> str:
    """Return a value as text: empty for null, JSON for values with parts."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@cache
def id_type(kind: Any) -> str:
    """Return the id type of a row type, such as `AccountId`."""
    return str(getattr(get_type_hints(kind)["id"], "__name__", ""))
