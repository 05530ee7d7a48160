"""A retail bank: accounts, a ledger, payees, scheduled payments and cards."""

from .tools import server

__all__ = ["server"]
