"""A second-hand marketplace: listings, auctions, offers, sales, ratings and payouts."""

from .tools import server

__all__ = ["server"]
