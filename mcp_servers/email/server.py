"""The server object that the tools and laws of the mailbox register on."""

from ..kit import Server
from .seed import seed

server = Server("email", "Read, search, send, draft, label and archive email.", seed)
