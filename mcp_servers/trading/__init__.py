"""A stockbroker: portfolios, orders on real order books, market data and watchlists."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
