"""A retail chain: its stores in town, what each has on the shelf, pick-ups, transfers, returns and a loyalty card."""

from . import laws, tools
from .server import server

__all__ = ["laws", "server", "tools"]
