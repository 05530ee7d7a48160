"""Checks that raise ToolError, and changes over time: recurring expenses and the opening of a new month."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from ..core import ToolError
from ..shared.people import EmailAddress
from ..shared.records import BookingCode, InvoiceId
from .state import (
    Budget,
    BudgetCategoryId,
    BudgetId,
    Budgets,
    Category,
    Expense,
    ExpenseId,
    RecurringExpense,
    get_next_month,
    month_of,
    months,
)

# Checks that raise ToolError: view-only budgets, exceeded limits, closed months, used receipts.


def editable(budgets: Budgets, id: BudgetId) -> Budget:
    """Return the budget, if the user may change it. Raises ToolError when it is view-only."""
    budget = budgets.budgets[id]
    if budget.access == "view":
        raise ToolError("view_only", f"You may only look at {id} ({budget.name}); use a budget you can edit.")
    return budget


def open_category(budgets: Budgets, id: BudgetCategoryId) -> tuple[Category, Budget]:
    """Return the category and its budget, if the user may change them. Raises ToolError otherwise."""
    row = budgets.categories[id]
    return row, editable(budgets, row.budget)


def require_left(budgets: Budgets, row: Category, amount: int) -> None:
    left = budgets.compute_remaining_cents(row)
    if amount > left:
        raise ToolError(
            "budget_exceeded", f"{row.id} ({row.name}) has {left} cents left this month; spend less or move some there."
        )


def require_open_day(budgets: Budgets, day: date) -> None:
    """Raise ToolError for a day in the future or in a closed month."""
    today = budgets.now.date()
    if day > today:
        raise ToolError("in_the_future", f"{day} is after today, {today}; record an expense once it is made.")
    if month_of(day) < budgets.month:
        raise ToolError("month_closed", f"{month_of(day)} is closed; only {budgets.month} can be changed.")


def require_member(budget: Budget, person: EmailAddress) -> None:
    if person not in budget.members:
        raise ToolError("not_a_member", f"{person} is no member of {budget.id}; list_budgets shows its members.")


def require_receipt(
    budgets: Budgets, budget: Budget, amount: int, invoice: InvoiceId | None, booking: BookingCode | None
) -> None:
    """Raise ToolError when a receipt is missing, one too many, already used, or for less than the expense."""
    if invoice is not None and booking is not None:
        raise ToolError("two_receipts", "An expense has one receipt; name the invoice or the booking, not both.")
    if invoice is None and booking is None:
        if amount > budget.receipt_above:
            raise ToolError(
                "receipt_required",
                f"Expenses above {budget.receipt_above} cents need a receipt in {budget.id}; name it.",
            )
        return
    worth = budgets.invoices[invoice].amount if invoice is not None else 0
    worth = budgets.bookings[booking].amount if booking is not None else worth
    used = budgets.expenses.where(receipt=invoice or booking)
    if used:
        raise ToolError(
            "duplicate_receipt", f"{used[0].id} ({used[0].description}) already has this receipt; name another."
        )
    if amount > worth:
        raise ToolError("over_receipt", f"That receipt is of {worth} cents; record at most these.")


def require_within_total(budgets: Budgets, budget: Budget, more: int) -> None:
    """Raise ToolError when planning `more` cents would exceed the monthly total of the budget."""
    free = budget.monthly_total - budgets.sum_limits(budget.id)
    if more > free:
        raise ToolError(
            "over_total", f"{budget.id} ({budget.name}) has {free} cents a month that are not planned; plan less."
        )


# Changes over time: recurring expenses are booked on their day, and every category rolls over to a new month.


def turn(budgets: Budgets) -> Budgets:
    """Bring a draft up to its clock: book due recurring expenses, then roll over the months that have ended."""
    today = budgets.now.date()
    for rule in due(budgets):
        while rule.next_day <= today:
            budgets.expenses.put(occurrence(budgets, rule))
            rule = budgets.recurring.change(rule.id, next_month=get_next_month(rule.next_month))
    for row in find_ended_categories(budgets):
        budgets.categories.put(roll_over_category(budgets, row))
    return budgets


def due(budgets: Budgets) -> list[RecurringExpense]:
    """Return the recurring expenses whose day has come."""
    today = budgets.now.date()
    return [rule for rule in budgets.recurring if rule.next_day <= today]


def find_ended_categories(budgets: Budgets) -> list[Category]:
    """Return the categories whose month is over."""
    month = budgets.month
    return [row for row in budgets.categories if row.month < month]


def occurrence(budgets: Budgets, rule: RecurringExpense) -> Expense:
    """Return the expense of a rule for its next month, with an id that does not depend on when it is written."""
    category = budgets.categories[rule.category]
    return Expense.from_row(
        rule,
        id=id_of(budgets, rule),
        day=rule.next_day,
        paid_by=budgets.budgets[category.budget].members[0],
        recurring=rule.id,
    )


def id_of(budgets: Budgets, rule: RecurringExpense) -> ExpenseId:
    own = budgets.expenses
    cause, tried = own.cause, own.tried
    own.cause, own.tried = f"recurring/{rule.id}/{rule.next_month}", 0
    id = own.new_id()
    own.cause, own.tried = cause, tried
    return id


def roll_over_category(budgets: Budgets, row: Category) -> Category:
    """Return the category rolled over to the open month; an envelope saves what was left of each earlier month."""
    saved = row.saved
    for month in months(row.month, budgets.month):
        if month < budgets.month:
            moved = row.moved if month == row.month else 0
            saved += row.monthly_limit + moved - budgets.sum_spending(row.id, month)
    return replace(row, month=budgets.month, saved=saved if row.envelope else 0, moved=0)


def update_if_due(budgets: Budgets) -> Budgets:
    """Return the current budgets for read tools: an updated copy when something is due, else the same object."""
    return turn(budgets.draft()) if due(budgets) or find_ended_categories(budgets) else budgets
