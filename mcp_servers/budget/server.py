"""The server object that the tools and laws of the budgets register on."""

from ..kit import Server
from .seed import seed

server = Server("budget", "Keep budgets: categories, envelopes, expenses, recurring expenses and receipts.", seed)
