"""A food delivery service: restaurants, menus, one cart, promo codes, orders on their way, tips, ratings, refunds."""

from . import laws, tools
from .server import server

__all__ = ["laws", "server", "tools"]
