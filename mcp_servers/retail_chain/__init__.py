"""A retail chain: its stores in town, what each has on the shelf, pick-ups, transfers, returns and a loyalty card."""

from .tools import server

__all__ = ["server"]
