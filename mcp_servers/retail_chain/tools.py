"""All tools and laws of the retail chain, on its one server object."""

from . import laws, tools_browse, tools_card, tools_pickups, tools_transfers
from .server import server

__all__ = ["laws", "server", "tools_browse", "tools_card", "tools_pickups", "tools_transfers"]
