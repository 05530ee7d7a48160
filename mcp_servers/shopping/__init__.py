"""An online shop: a catalogue with stock, a wish list, a cart, coupons, checkout, orders, returns and points."""

from .tools import server

__all__ = ["server"]
