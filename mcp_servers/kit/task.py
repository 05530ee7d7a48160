"""A task one might give an assistant in a world, made from the words in which a tool is asked for."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, get_type_hints

from .server import Server, Tool
from .state import Entity, State
from .times import minute_text

OPTIONAL = re.compile(r"\[[^\[\]]*\]")
DAYS_AHEAD = 3


def example_task(server: Server[Any], state: State) -> str:
    """What the user of this world could ask for: the first change that its rows and the tools' examples can fill."""
    rows = first_rows(state)
    for tool in sorted(server.tools.values(), key=lambda tool: (not tool.writes, not tool.consumes)):
        values = {name: value_for(tool, name, state, rows) for name in tool.required}
        if tool.asks and None not in values.values():
            text = OPTIONAL.sub("", tool.asks[0]).format(**values)
            return f"Please {text}."
    return f"Please tell me what {server.name} can do for me."


def first_rows(state: State) -> dict[str, Entity]:
    """By id type, the first row of the table with such ids."""
    found: dict[str, Entity] = {}
    for name, row_type in state.row_types().items():
        id_type = get_type_hints(row_type)["id"].__name__
        row = next(iter(getattr(state, name)), None)
        if row is not None:
            found.setdefault(id_type, row)
    return found


def value_for(tool: Tool, name: str, state: State, rows: dict[str, Entity]) -> str | None:
    """What a person would say for this parameter; None when only the user can know it."""
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
    """What a row is called, as its type says."""
    fields = {name: getattr(row, name) for name in get_type_hints(type(row))}
    return row.__label__.format(**fields)
