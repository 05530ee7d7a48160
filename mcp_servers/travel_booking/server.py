"""The server object that the tools and laws of the travel agency register on."""

from ..kit import Server
from .seed import seed

server = Server(
    "travel_booking", "Book flights, seats and hotels for yourself and others, check in, and keep track of miles.", seed
)
