"""A food delivery service: restaurants, menus, one cart, promo codes, orders on their way, tips, ratings, refunds."""

from .tools import server

__all__ = ["server"]
