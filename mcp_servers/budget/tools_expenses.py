"""Tools on expenses: record, list, remove."""

from __future__ import annotations

from heapq import nlargest
from operator import attrgetter

from ..kit import ToolError
from .month_rollover import turn, turned
from .parameters import (
    ROWS,
    Amount,
    AskedBudget,
    AskedCategory,
    BookingOf,
    CategoryRef,
    Description,
    ExpenseRef,
    InvoiceOf,
    Limit,
    PaidBy,
    Since,
    SpentOn,
    Until,
)
from .rules import open_category, require_left, require_member, require_open_day, require_receipt
from .server import server
from .state import BudgetCategoryId, BudgetId, Budgets, Expense
from .views import ExpenseView, Recorded, expense_view, recorded


@server.write()
def record_expense(
    budgets: Budgets,
    category: CategoryRef,
    description: Description,
    amount: Amount,
    day: SpentOn = None,
    paid_by: PaidBy = None,
    invoice: InvoiceOf = None,
    booking: BookingOf = None,
) -> Recorded:
    """Record an expense of this month. Its category must have enough left."""
    turn(budgets)
    row, budget = open_category(budgets, category)
    spent_on, payer = day or budgets.now.date(), paid_by or budget.members[0]
    require_open_day(budgets, spent_on)
    require_member(budget, payer)
    require_receipt(budgets, budget, amount, invoice, booking)
    require_left(budgets, row, amount)
    expense = Expense(
        id=budgets.expenses.new_id(),
        category=category,
        description=description,
        amount=amount,
        day=spent_on,
        paid_by=payer,
        invoice=invoice,
        booking=booking,
    )
    return recorded(budgets, budgets.expenses.put(expense))


@server.write(destructive=True, idempotent=True)
def remove_expense(budgets: Budgets, expense: ExpenseRef) -> Recorded:
    """Remove an expense of this month and free its receipt."""
    turn(budgets)
    row = budgets.expenses[expense]
    open_category(budgets, row.category)
    require_open_day(budgets, row.day)
    budgets.expenses.remove(expense)
    return recorded(budgets, row)


@server.read()
def list_budget_expenses(
    budgets: Budgets,
    budget: AskedBudget = None,
    category: AskedCategory = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = None,
) -> tuple[ExpenseView, ...]:
    """List expenses with their receipts, the latest first; amounts in cents."""
    if since and until and until < since:
        raise ToolError("empty_period", f"{until} is before {since}; swap the two days.")
    rows = candidates(turned(budgets), budget, category)
    found = [row for row in rows if (since is None or since <= row.day) and (until is None or row.day <= until)]
    return tuple(expense_view(row) for row in nlargest(limit or ROWS, found, key=attrgetter("day", "id")))


def candidates(budgets: Budgets, budget: BudgetId | None, category: BudgetCategoryId | None) -> list[Expense]:
    """The expenses of a category, of a budget, or all; none when the category is of another budget."""
    if category is not None:
        row = budgets.categories[category]
        is_other = budget is not None and budgets.budgets[budget].id != row.budget
        return [] if is_other else budgets.expenses.where(category=category)
    if budget is None:
        return list(budgets.expenses)
    own = budgets.categories.where(budget=budgets.budgets[budget].id)
    return [row for one in own for row in budgets.expenses.where(category=one.id)]
