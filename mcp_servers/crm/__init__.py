"""A sales team's customer database: leads, contacts, companies, deals, quotes and activities."""

from .tools import server

__all__ = ["server"]
