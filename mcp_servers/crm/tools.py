"""All tools and laws of the customer database, on its one server object."""

from . import laws, tools_activities, tools_deals, tools_leads, tools_people, tools_quotes
from .server import server

__all__ = ["laws", "server", "tools_activities", "tools_deals", "tools_leads", "tools_people", "tools_quotes"]
