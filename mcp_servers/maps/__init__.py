"""A map of the user's town: places, a road graph with routes and traffic, closures, saved places, shared trips."""

from . import laws, tools_places, tools_routes
from .server import server

__all__ = ["laws", "server", "tools_places", "tools_routes"]
