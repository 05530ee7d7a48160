"""Budgets of a person and their teams: categories with limits, expenses, recurring expenses, receipts."""

from .tools import server

__all__ = ["server"]
