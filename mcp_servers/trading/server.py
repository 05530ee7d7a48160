"""The server object that the tools and laws of the broker register on."""

from ..kit import Server
from .seed import seed

server = Server("trading", "Trade stocks: quotes, order books, orders, portfolios and watchlists.", seed)
