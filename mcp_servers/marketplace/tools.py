"""All tools and laws of the marketplace, on its one server object."""

from . import laws, tools_account, tools_buying, tools_listings, tools_offers, tools_selling
from .server import server

__all__ = ["laws", "server", "tools_account", "tools_buying", "tools_listings", "tools_offers", "tools_selling"]
