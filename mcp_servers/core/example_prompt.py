"""Example of a task for an assistant, made from the phrases and the rows of a server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, get_type_hints

from .phrases import FILE, OPTIONAL, ToolPhrases, load
from .server import Server, Tool
from .state import Entity, State
from .times import minute_text

DAYS_AHEAD = 3


def example_task(server: Server[Any], state: State) -> str:
    """Return an example request, from the first tool, writing tools first, whose arguments can all be filled."""
    rows, phrases = first_rows(state), known_phrases(server)
    for tool in sorted(server.tools.values(), key=lambda tool: (not tool.writes, not tool.consumes)):
        values = {name: value_for(tool, name, state, rows) for name in tool.required}
        if tool.name in phrases and None not in values.values():
            text = OPTIONAL.sub("", phrases[tool.name].clauses[0]).format(**values)
            return f"Please {text}."
    return f"Please tell me what {server.name} can do for me."


def known_phrases(server: Server[Any]) -> Mapping[str, ToolPhrases]:
    """Return the phrases of a server's tools; empty if it has no phrase file."""
    return load(server.folder).tools if (server.folder / FILE).exists() else {}


def first_rows(state: State) -> dict[str, Entity]:
    """Return by id type the first row of the table with such ids."""
    found: dict[str, Entity] = {}
    for name, row_type in state.row_types().items():
        id_type = get_type_hints(row_type)["id"].__name__
        row = next(iter(getattr(state, name)), None)
        if row is not None:
            found.setdefault(id_type, row)
    return found


def value_for(tool: Tool, name: str, state: State, rows: dict[str, Entity]) -> str | None:
    """Return what a person would say for this parameter; None if only the user can know it."""
    schema = tool.input_schema["properties"][name]
    if name in tool.sensitive:
        return None
    if name in tool.ids:
        row = rows.get(tool.ids[name])
        return None if row is None else label(row)
    later = state.now + timedelta(days=DAYS_AHEAD)
    match schema:
        case {"examples": [first, *_]} | {"enum": [first, *_]}:
            return str(first)
        case {"format": "date-time"}:
            return minute_text(later)
        case {"format": "date"}:
            return later.date().isoformat()
    return None


def label(row: Entity) -> str:
    """Return a row's label, from the template of its type."""
    fields = {name: getattr(row, name) for name in get_type_hints(type(row))}
    return row.__label__.format(**fields)
