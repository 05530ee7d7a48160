"""All tools and laws of the budgets, on their one server object."""

from . import laws, tools_categories, tools_expenses, tools_recurring, tools_reports
from .server import server

__all__ = ["laws", "server", "tools_categories", "tools_expenses", "tools_recurring", "tools_reports"]
