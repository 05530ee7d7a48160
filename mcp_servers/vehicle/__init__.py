"""A car: engine, gears and brake, doors and windows, climate, navigation, trips, fuel or charge, service."""

from . import laws, tools
from .server import server

__all__ = ["laws", "server", "tools"]
