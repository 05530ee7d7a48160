"""Autocomplete of entities in a live world: the id with a label, found by any of the words in its row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_servers.world import World

from .tables import as_words, id_type

LISTED = 200  # options in a form without script
MAX_SUGGESTIONS = 20


@dataclass(frozen=True)
class Entity:
    """A row with an id; `table` is its table, such as `banking.accounts`."""

    id: str
    label: str
    table: str


def entities(world: World, wanted: str, find: str = "") -> Iterator[Entity]:
    """Yield the rows with an id of this type that contain every word, in the order of their tables."""
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


def search_entities(world: World, wanted: str, find: str, most: int = MAX_SUGGESTIONS) -> tuple[list[Entity], int]:
    """Return the first entities found, and the number of all."""
    every = list(entities(world, wanted, find))
    exact = find.strip().lower()
    every.sort(key=lambda one: not one.id.lower().startswith(exact) if exact else False)
    return every[:most], len(every)
