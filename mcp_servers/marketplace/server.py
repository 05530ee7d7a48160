"""The server object that the tools and laws of the marketplace register on."""

from ..kit import Server
from .seed import seed

server = Server(
    "marketplace", "Buy and sell second-hand things by listing, auction and offer, with ratings and payouts.", seed
)
