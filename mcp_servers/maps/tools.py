"""All tools and laws of the map, on its one server object."""

from . import laws, tools_closures, tools_lists, tools_places, tools_routes, tools_trips
from .server import server

__all__ = ["laws", "server", "tools_closures", "tools_lists", "tools_places", "tools_routes", "tools_trips"]
