"""A payment processor: a merchant's invoices, card payments, refunds and webhooks."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
