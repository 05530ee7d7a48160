"""The server object that the tools and laws of the retail chain register on."""

from ..kit import Server
from .seed import seed

server = Server(
    "retail_chain", "Find a chain's stores and stock, reserve products for pick-up, move them and return them.", seed
)
