"""Cached tool results in the states of a plan, and the entities that they show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from mcp_servers.catalogue import TOOLS
from mcp_servers.core.state import State
from mcp_servers.world import World

from ..graph.result_schema import find_ids, rows_in, types_with_rows
from .referents import Description


class ResultEntity(NamedTuple):
    """An entity that a result shows: its row, and all rows of its type there."""

    type: str
    id: str
    row: dict[str, Any] | None = None
    rows: tuple[dict[str, Any], ...] = ()


@dataclass(eq=False)
class ToolResult:
    """The result of a tool in one state of the world, with cached facts about it.

    `proofs` say whether words for an entity of a type identify another one in a swapped world, `lists` are by type all
    rows that the same call can show and whether there may be more, `ways` the ways to describe an entity among them.
    """

    tool: str
    text: str
    ok: bool = True
    proofs: dict[tuple[str, str, str], bool] = field(default_factory=dict)
    lists: dict[str, tuple[Sequence[dict[str, Any]], bool]] = field(default_factory=dict)
    ways: dict[tuple[str, str], list[Description]] = field(default_factory=dict)

    @cached_property
    def data(self) -> Any:
        return json.loads(self.text)

    @cached_property
    def entities(self) -> tuple[ResultEntity, ...]:
        """Entities that it shows, those with rows first."""
        return tuple(entities_in(self.tool, self.data))


class ResultCache:
    """A cache of tool results in the states of a plan; no call runs twice in one state."""

    def __init__(self) -> None:
        self.known: dict[tuple[tuple[State, ...], datetime, str, str], tuple[ToolResult, World]] = {}

    def call_tool(self, world: World, name: str, arguments: Mapping[str, Any]) -> tuple[ToolResult, World]:
        """Return a tool's result in a world and the world after the call, a fork where something was written."""
        server, tool = TOOLS[name]
        sessions = world.sessions.values() if tool.writes else (world.sessions[server.name],)
        key = tuple(one.state for one in sessions), world.now, name, json.dumps(arguments, sort_keys=True)
        if key not in self.known:
            after = world.fork()
            reply = after.call(name, dict(arguments))
            self.known[key] = ToolResult(name, reply.text, reply.ok), after if tool.writes and reply.ok else world
        result, after = self.known[key]
        return result, after if tool.writes else world


def entities_in(tool: str, data: Any) -> Iterator[ResultEntity]:
    """Yield the entities that a result shows, those with rows first, each with all rows of its type."""
    rows, fields = rows_in(tool, data), dict[str, list[dict[str, Any]]]()
    entities = [(row.type, row.id, row.fields) for row in rows]
    known, found = {(type, id) for type, id, _ in entities}, find_ids(tool, data)
    held = {id: type for type, id in found if type not in types_with_rows() and (type, id) not in known}
    entities += holders_in(held, data) if held else ()
    for type, _, row in entities:
        fields.setdefault(type, []).append(row)
    lists = {type: tuple(rows) for type, rows in fields.items()}
    for type, id, row in entities:
        yield ResultEntity(type, id, row, lists[type])
    known = {(type, id) for type, id, _ in entities}
    yield from (ResultEntity(*one) for one in found if one not in known)


def holders_in(types: Mapping[str, str], value: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each of some ids in a result, with its type and the object that contains it."""
    if isinstance(value, dict):
        texts = [one for name, one in value.items() if name != "id" and isinstance(one, str)]
        yield from ((types[one], one, value) for one in texts if one in types)
    if isinstance(value, dict | list):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from holders_in(types, inside)
