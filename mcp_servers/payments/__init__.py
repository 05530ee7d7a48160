"""A payment processor: a merchant's invoices, card payments, refunds and webhooks."""

from .tools import server

__all__ = ["server"]
