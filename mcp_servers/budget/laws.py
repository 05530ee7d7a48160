"""Invariants of the budgets: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter

from .engine import update_if_due
from .state import Budgets
from .tools import server


@server.invariant
def no_category_is_overspent(budgets: Budgets) -> bool:
    """Up to now, what is spent and what still recurs in the open month is within limit, savings and moves."""
    now = update_if_due(budgets)
    return all(now.compute_remaining_cents(row) >= 0 and row.allowance >= 0 for row in now.categories)


@server.invariant
def moves_cancel_out(budgets: Budgets) -> bool:
    """Within a budget, all that was moved into categories this month was moved out of others."""
    moved = Counter[str]()
    for row in budgets.categories:
        moved[row.budget] += row.moved
    return not any(moved.values())


@server.invariant
def limits_stay_within_the_total(budgets: Budgets) -> bool:
    """The categories of a budget plan no more than its total, and recurring expenses no more than their category."""
    return all(budgets.sum_limits(row.id) <= row.monthly_total for row in budgets.budgets) and all(
        budgets.sum_recurring(row.id) <= row.monthly_limit for row in budgets.categories
    )


@server.invariant
def a_receipt_is_used_once(budgets: Budgets) -> bool:
    """Each expense names at most one existing receipt, whose amount covers it; no receipt belongs to two expenses."""
    used = [row.receipt for row in budgets.expenses if row.receipt is not None]
    if len(dict.fromkeys(used)) != len(used):
        return False
    for row in budgets.expenses:
        if row.invoice is not None and (row.booking is not None or row.amount > budgets.invoices[row.invoice].amount):
            return False
        if row.booking is not None and row.amount > budgets.bookings[row.booking].amount:
            return False
    return True


@server.invariant
def expenses_are_in_order(budgets: Budgets) -> bool:
    """An expense has a category, was paid by a member on a day up to now, with a receipt when it needs one."""
    for row in budgets.expenses:
        category = budgets.categories.get(row.category)
        if category is None or row.amount <= 0 or row.day > budgets.now.date():
            return False
        budget = budgets.budgets[category.budget]
        if row.paid_by not in budget.members:
            return False
        if row.receipt is None and row.recurring is None and row.amount > budget.receipt_above:
            return False
    return True


@server.invariant
def only_envelopes_save(budgets: Budgets) -> bool:
    """Only envelopes carry a remainder into the next month, and it is never negative."""
    return all(row.saved >= 0 and (row.envelope or row.saved == 0) for row in budgets.categories)


@server.invariant
def recurring_expenses_come_once_a_month(budgets: Budgets) -> bool:
    """Each rule has a category, and made at most one expense in a month, none in the month that is its next."""
    made = Counter[tuple[str, str]]((row.recurring, row.bucket) for row in budgets.expenses if row.recurring)
    return all(count == 1 for count in made.values()) and all(
        rule.category in budgets.categories and made[rule.id, f"{rule.category}/{rule.next_month}"] == 0
        for rule in budgets.recurring
    )


@server.invariant
def names_are_unambiguous(budgets: Budgets) -> bool:
    """No two categories of a budget and no two recurring expenses of a category have one name."""
    categories = [(row.budget, row.name.casefold()) for row in budgets.categories]
    rules = [(row.category, row.description.casefold()) for row in budgets.recurring]
    return len(dict.fromkeys(categories)) == len(categories) and len(dict.fromkeys(rules)) == len(rules)
