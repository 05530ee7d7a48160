"""A map of the user's town: places, a road graph with routes and traffic, closures, saved places, shared trips."""

from .tools import server

__all__ = ["server"]
