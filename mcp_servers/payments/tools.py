"""All tools and laws of the payment processor, on its one server object."""

from . import laws, tools_invoices, tools_money, tools_webhooks
from .server import server

__all__ = ["laws", "server", "tools_invoices", "tools_money", "tools_webhooks"]
