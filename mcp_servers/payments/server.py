"""The server object that the tools and laws of the payment processor register on."""

from ..kit import Server
from .seed import seed

server = Server("payments", "Bill customers: invoices, card payments, refunds and webhooks.", seed)
