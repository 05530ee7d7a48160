"""A car: engine, gears and brake, doors and windows, climate, navigation, trips, fuel or charge, service."""

from .tools import server

__all__ = ["server"]
