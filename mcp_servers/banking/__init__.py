"""A retail bank: accounts, a ledger, payees, scheduled payments and cards."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
