"""All tools and laws of the bank, on its one server object."""

from . import laws, tools_accounts, tools_cards, tools_payees, tools_payments
from .server import server

__all__ = ["laws", "server", "tools_accounts", "tools_cards", "tools_payees", "tools_payments"]
