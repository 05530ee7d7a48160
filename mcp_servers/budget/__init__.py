"""Budgets of a person and their teams: categories with limits, expenses, recurring expenses, receipts."""

from . import laws
from .tools import server

__all__ = ["laws", "server"]
