"""The server object that the tools and laws of the shop register on."""

from ..kit import Server
from .seed import seed

server = Server("shopping", "Search an online shop, fill the cart, check out, and track or return orders.", seed)
