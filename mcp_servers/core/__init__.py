"""Building blocks of a server: entities in tables, tools over a state, seeds, sessions."""

from .errors import NotFound, ServerFailed, ToolError
from .rng import Draw, is_held_out, is_held_out_seed
from .server import ObservedField, Sensitive, Server, Tool
from .session import Reply, Session, Step
from .state import Entity, State, Table, derive_row_id, table
from .times import Day, Minute, minute_text

__all__ = [
    "Day",
    "Draw",
    "Entity",
    "Minute",
    "NotFound",
    "ObservedField",
    "Reply",
    "Sensitive",
    "Server",
    "ServerFailed",
    "Session",
    "State",
    "Step",
    "Table",
    "Tool",
    "ToolError",
    "derive_row_id",
    "is_held_out",
    "is_held_out_seed",
    "minute_text",
    "table",
]
