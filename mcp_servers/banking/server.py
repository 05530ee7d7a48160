"""The server object that the tools and laws of the bank register on."""

from ..kit import Server
from .seed import seed

server = Server("banking", "Manage bank accounts, transfers, payees, scheduled payments and cards.", seed)
