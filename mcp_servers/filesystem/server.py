"""The server object that the tools and laws of the file server register on."""

from ..kit import Server
from .seed import seed

server = Server("filesystem", "Browse, read, write, move, archive and share files and folders.", seed)
