"""The server object that the tools and laws of the customer database register on."""

from ..kit import Server
from .seed import seed

server = Server("crm", "Manage leads, contacts, companies, deals, quotes and sales activities of a sales team.", seed)
