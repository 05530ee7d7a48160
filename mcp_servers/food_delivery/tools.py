"""All tools and laws of the food delivery, on its one server object."""

from . import laws, tools_after, tools_cart, tools_orders, tools_restaurants, tools_tracking
from .server import server

__all__ = ["laws", "server", "tools_after", "tools_cart", "tools_orders", "tools_restaurants", "tools_tracking"]
