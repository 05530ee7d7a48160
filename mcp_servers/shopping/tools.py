"""All tools and laws of the shop, on its one server object."""

from . import laws, tools_account, tools_cart, tools_catalogue, tools_checkout, tools_orders, tools_wishes
from .server import server

__all__ = [
    "laws",
    "server",
    "tools_account",
    "tools_cart",
    "tools_catalogue",
    "tools_checkout",
    "tools_orders",
    "tools_wishes",
]
