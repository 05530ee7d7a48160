"""What time alone does: recurring expenses come on their day, and a new month opens every category afresh."""

from __future__ import annotations

from dataclasses import replace

from .months import after, months
from .state import Budgets, Category, Expense, ExpenseId, Recurring


def turn(budgets: Budgets) -> Budgets:
    """Bring a draft up to its clock: recurring expenses that were due, then the months that have ended."""
    today = budgets.now.date()
    for rule in due(budgets):
        while rule.next_day <= today:
            budgets.expenses.put(occurrence(budgets, rule))
            rule = budgets.recurring.change(rule.id, next_month=after(rule.next_month))
    for row in ended(budgets):
        budgets.categories.put(opened(budgets, row))
    return budgets


def due(budgets: Budgets) -> list[Recurring]:
    """The recurring expenses whose day has come."""
    today = budgets.now.date()
    return [rule for rule in budgets.recurring if rule.next_day <= today]


def ended(budgets: Budgets) -> list[Category]:
    """The categories whose month is over."""
    month = budgets.month
    return [row for row in budgets.categories if row.month < month]


def occurrence(budgets: Budgets, rule: Recurring) -> Expense:
    """The expense a rule makes in the month that is next, with an id that does not depend on when it is written."""
    category = budgets.categories[rule.category]
    return Expense(
        id=id_of(budgets, rule),
        category=rule.category,
        description=rule.description,
        amount=rule.amount,
        day=rule.next_day,
        paid_by=budgets.budgets[category.budget].members[0],
        recurring=rule.id,
    )


def id_of(budgets: Budgets, rule: Recurring) -> ExpenseId:
    own = budgets.expenses
    cause, tried = own.cause, own.tried
    own.cause, own.tried = f"recurring/{rule.id}/{rule.next_month}", 0
    id = own.new_id()
    own.cause, own.tried = cause, tried
    return id


def opened(budgets: Budgets, row: Category) -> Category:
    """The category in the month that is open now: an envelope keeps what was left of each month before."""
    saved = row.saved
    for month in months(row.month, budgets.month):
        if month < budgets.month:
            moved = row.moved if month == row.month else 0
            saved += row.monthly_limit + moved - budgets.spent(row.id, month)
    return replace(row, month=budgets.month, saved=saved if row.envelope else 0, moved=0)


def turned(budgets: Budgets) -> Budgets:
    """The budgets as they are now, for tools that only look: a copy that is up to date, when time did something."""
    return turn(budgets.draft()) if due(budgets) or ended(budgets) else budgets
