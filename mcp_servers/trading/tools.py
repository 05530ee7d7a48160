"""All tools and laws of the broker, on its one server object."""

from . import laws, tools_market, tools_orders, tools_portfolios, tools_watchlists
from .server import server

__all__ = ["laws", "server", "tools_market", "tools_orders", "tools_portfolios", "tools_watchlists"]
