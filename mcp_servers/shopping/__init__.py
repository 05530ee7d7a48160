"""An online shop: a catalogue with stock, a wish list, a cart, coupons, checkout, orders, returns and points."""

from . import laws, tools
from .server import server

__all__ = ["laws", "server", "tools"]
