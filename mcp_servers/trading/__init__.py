"""A stockbroker: portfolios, orders on real order books, market data and watchlists."""

from .tools import server

__all__ = ["server"]
