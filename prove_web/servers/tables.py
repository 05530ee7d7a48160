"""A world's tables, and what a call changed in them, as pages show them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from mcp_servers.kit.state import as_json
from mcp_servers.world import World

MOST_SUGGESTED = 200


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
    """One table: its columns, and the rows in which the search text occurs, as text by column."""

    server: str
    table: str
    columns: tuple[str, ...]
    rows: list[Any]
    kind: Any

    def shown(self, rows: list[Any]) -> list[list[str]]:
        return [list(map(show, as_json(self.kind, row).values())) for row in rows]


def overview(world: World) -> list[tuple[str, list[tuple[str, int]]]]:
    """By server, the tables and how many rows they have."""
    return [
        (name, [(table, len(rows)) for table, rows in session.state.tables().items()])
        for name, session in world.sessions.items()
    ]


def view(world: World, name: str, find: str) -> View:
    """The table of this name, such as `banking.accounts`; the first one for a name that is none."""
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
    """The rows that differ between two moments of a world."""
    for server, session in after.sessions.items():
        then = before.sessions[server].state
        if session.state is then:
            continue
        types = session.state.row_types()
        for table, rows in session.state.changes_since(then).items():
            for id, (old, new) in rows.items():
                how = "added" if old is None else "removed" if new is None else "changed"
                yield RowChange(server, table, id, how, fields(types[table], old, new))


def fields(kind: Any, old: Any, new: Any) -> tuple[tuple[str, str, str], ...]:
    before = as_json(kind, old) if old is not None else {}
    after = as_json(kind, new) if new is not None else {}
    return tuple(
        (name, show(before.get(name)), show(after.get(name)))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    )


def show(value: Any) -> str:
    """A value as text: nothing for none, JSON for what has parts."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@cache
def id_type(kind: Any) -> str:
    """The id type of a kind of row: `AccountId`."""
    return str(getattr(get_type_hints(kind)["id"], "__name__", ""))


def suggestions(world: World, wanted: str) -> list[tuple[str, str]]:
    """Ids of this type in the world with what they name, for a form to offer."""
    found: dict[str, str] = {}
    for session in world.sessions.values():
        for table, kind in session.state.row_types().items():
            if id_type(kind) == wanted:
                for row in session.state.tables()[table]:
                    found.setdefault(row.id, kind.__label__.format_map(vars(row)))
    return list(found.items())[:MOST_SUGGESTED]
