"""Entities of a live world to choose from: the id, and in words what it names; found by any of these words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_servers.world import World

from .tables import as_words, id_type

LISTED = 200  # what a form without script offers at once
SHOWN = 20


@dataclass(frozen=True)
class Entity:
    """One row that an id names; `table` is where it stands, such as `banking.accounts`."""

    id: str
    label: str
    table: str


def entities(world: World, wanted: str, find: str = "") -> Iterator[Entity]:
    """The rows with an id of this type in which every word occurs, in the order of their tables."""
    words, seen = find.lower().split(), set[str]()
    for server, session in world.sessions.items():
        for table, kind in session.state.row_types().items():
            if id_type(kind) != wanted:
                continue
            for row in session.state.tables()[table]:
                label = kind.__label__.format_map(vars(row))
                known = f"{row.id} {label}".lower()
                if row.id not in seen and all(word in known or word in as_words(kind, row) for word in words):
                    seen.add(row.id)
                    yield Entity(row.id, label, f"{server}.{table}")


def search_entities(world: World, wanted: str, find: str, most: int = SHOWN) -> tuple[list[Entity], int]:
    """The first entities found, and how many there are."""
    every = list(entities(world, wanted, find))
    exact = find.strip().lower()
    every.sort(key=lambda one: not one.id.lower().startswith(exact) if exact else False)
    return every[:most], len(every)
