"""All tools and laws of the calendar, on its one server object."""

from . import laws, tools_browse, tools_events, tools_guests, tools_planning
from .server import server

__all__ = ["laws", "server", "tools_browse", "tools_events", "tools_guests", "tools_planning"]
