"""The server object that the tools and laws of the map register on."""

from ..kit import Server
from .seed import seed

server = Server("maps", "Find places, routes and closed roads in your town, save places and share trips.", seed)
