"""A sales team's customer database: leads, contacts, companies, deals, quotes and activities."""

from . import laws, tools
from .server import server

__all__ = ["laws", "server", "tools"]
