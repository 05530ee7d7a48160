"""The server object that the tools and laws of the team chat register on."""

from ..kit import Server
from .seed import seed

server = Server("team_chat", "Talk with the team in channels and threads, react, pin and search.", seed)
