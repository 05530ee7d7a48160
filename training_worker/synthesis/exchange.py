"""Worlds with two entities swapped, which prove that a description identifies an entity by the world's data.

A description is used only if the same words and the same look-up identify the other entity in a swapped world. So the
ground truth of a conversation depends on the world, and an id can be known only from an observation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from mcp_servers.catalogue import TOOLS
from mcp_servers.core.server import ids_in
from mcp_servers.core.session import Session
from mcp_servers.core.state import State
from mcp_servers.world import World

from ..graph.result_schema import hints
from .plan import ObservedEntity, PlannedCall

PARTS = ("rows", "references", "both")
OTHER_DIGITS = str.maketrans("0123456789", "1234567890")


def find_another(
    calls: Sequence[PlannedCall], sighting: ObservedEntity, leads_to: Callable[[list[str], str], bool]
) -> str:
    """Return another entity that the same words identify where it has the place of the one seen; "" where none does.

    `leads_to(texts, id)` says whether the words identify this entity alone, given the observations in such a world.
    """
    return next((other for other, texts in results_elsewhere(calls, sighting) if leads_to(texts, other)), "")


def results_elsewhere(calls: Sequence[PlannedCall], sighting: ObservedEntity) -> Iterator[tuple[str, list[str]]]:
    """Yield pairs of another entity and the observations of calls in a world in which it has the place of one."""
    server, before = TOOLS[calls[0].tool][0].name, calls[0].before
    others = list(list_others(before.sessions[server].state, sighting))
    for parts in PARTS:
        for other in others:
            if texts := answer(exchange(before, server, (sighting.id, other), parts), calls):
                yield other, texts


def list_others(state: State, sighting: ObservedEntity) -> Iterator[str]:
    """Yield other ids of the same kind, each once: two from the same result, two of its table, and a new one."""
    beside = (str(row["id"]) for row in sighting.rows if row.get("id") not in (None, sighting.id))
    tables = (table for table in state.tables().values() if sighting.id in table)
    stored = (str(row.id) for table in tables for row in table if row.id != sighting.id)
    yield from dict.fromkeys((*islice(beside, 2), *islice(stored, 2), sighting.id.translate(OTHER_DIGITS)))


def answer(world: World, calls: Sequence[PlannedCall]) -> list[str]:
    """Return the observations of calls in a world; empty where one is refused, or fails in an inconsistent world."""
    try:
        replies = [world.call(call.tool, call.arguments) for call in calls]
    except Exception:  # a post may have become a repost of itself
        return []
    return [reply.text for reply in replies] if all(reply.ok for reply in replies) else []


def exchange(world: World, server: str, pair: tuple[str, str], parts: str) -> World:
    """Return a fork in which two entities of a server are swapped.

    `parts` selects what is swapped: the contents of their "rows", all "references" to them, or "both".
    """
    fork = world.fork()
    session: Session[Any] = fork.sessions[server]
    state = session.state.draft()
    if parts in ("references", "both"):
        exchange_references(state, pair)
    if parts in ("rows", "both"):
        exchange_rows(state, pair)
    session.head = replace(session.head, state=state)
    return fork


def exchange_rows(state: State, pair: tuple[str, str]) -> None:
    """Swap the contents of two rows but not their ids; if only one exists, it gets the other id."""
    one, other = pair
    for table in state.tables().values():
        first, second = table.get(one), table.get(other)
        if first is not None:
            table.write(one, first, second and replace(second, id=one))
            table.write(other, second, replace(first, id=other))


def exchange_references(state: State, pair: tuple[str, str]) -> None:
    """Swap all references to two entities in the rows."""
    instead = dict(zip(pair, reversed(pair), strict=True))
    for name, kind in state.row_types().items():
        names, table = fields_with_ids(kind), getattr(state, name)
        found = {row.id: row for one in names for row in table if refers(getattr(row, one), instead)}
        for id, row in found.items():
            table.write(id, row, replace(row, **{one: substitute(getattr(row, one), instead) for one in names}))


def refers(value: Any, ids: Collection[str]) -> bool:
    """Return whether a field's value contains some of the ids, at any depth."""
    if isinstance(value, str):
        return value in ids
    if isinstance(value, tuple):
        return any(refers(one, ids) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return any(refers(getattr(value, one.name), ids) for one in fields(value))
    return False


def substitute(value: Any, instead: Mapping[str, str]) -> Any:
    """Return a field's value with ids replaced, at any depth."""
    if isinstance(value, str):
        return instead.get(value, value)
    if isinstance(value, tuple):
        return tuple(substitute(one, instead) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: substitute(getattr(value, one.name), instead) for one in fields(value)})
    return value


@cache
def fields_with_ids(row: type) -> tuple[str, ...]:
    """Return the fields of a row, other than its own id, that contain ids at any depth."""
    return tuple(name for name, hint in hints(row).items() if name != "id" and any(ids_in(hint)))
