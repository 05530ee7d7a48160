"""A second-hand marketplace: listings, auctions, offers, sales, ratings and payouts."""

from . import laws, tools
from .server import server

__all__ = ["laws", "server", "tools"]
