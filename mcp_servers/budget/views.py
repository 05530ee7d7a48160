"""Views of budgets, categories, expenses and receipts in tool results."""

from __future__ import annotations

from collections.abc import Iterator

from ..core import Day, Entity
from ..shared.people import EmailAddress
from ..shared.records import BookingCode, InvoiceId
from .state import (
    Access,
    Budget,
    BudgetCategoryId,
    BudgetId,
    Budgets,
    Category,
    Expense,
    ExpenseId,
    RecurringExpense,
    RecurringExpenseId,
)


class BudgetView(Entity):
    """A budget with its members; planned is what its categories may spend a month together, in cents."""

    __label__ = "the {name} budget"
    id: BudgetId
    name: str
    access: Access
    monthly_total: int
    planned: int
    receipt_above: int
    members: tuple[EmailAddress, ...]


class CategoryView(Entity):
    """A category in the open month, in cents; left is what is neither spent nor due to recurring expenses."""

    __label__ = "the {name} category"
    id: BudgetCategoryId
    budget: BudgetId
    name: str
    monthly_limit: int
    envelope: bool
    saved: int | None = None
    moved: int | None = None
    spent: int
    left: int


class ReportLine(Entity):
    """What was spent on a category in a month; its limit and what is left are those of the open month alone."""

    __label__ = "the {name} category"
    id: BudgetCategoryId
    name: str
    spent: int
    monthly_limit: int | None = None
    left: int | None = None


class RecurringView(Entity):
    """A recurring expense and the next day it comes."""

    __label__ = "the recurring expense for {description}"
    id: RecurringExpenseId
    category: BudgetCategoryId
    description: str
    amount: int
    next_day: Day


class Report(Entity):
    """A budget in a month; the recurring expenses are those to come."""

    __label__ = "the {name} budget"
    id: BudgetId
    name: str
    month: str
    spent: int
    lines: tuple[ReportLine, ...]
    recurring: tuple[RecurringView, ...]


class ExpenseView(Entity):
    """An expense in a list."""

    __label__ = "the expense for {description}"
    id: ExpenseId
    category: BudgetCategoryId
    description: str
    amount: int
    day: Day
    paid_by: EmailAddress
    invoice: InvoiceId | None = None
    booking: BookingCode | None = None


class ExpenseResult(Entity):
    """An expense just recorded or removed, and what is left of its category this month."""

    __label__ = "the expense for {description}"
    id: ExpenseId
    category: BudgetCategoryId
    description: str
    amount: int
    day: Day
    invoice: InvoiceId | None = None
    booking: BookingCode | None = None
    left: int


class MoveResult(Entity):
    """What two categories have left this month after money was moved."""

    source: CategoryView
    target: CategoryView


class ReceiptView(Entity):
    """A receipt, an invoice or a booking, and the expense that names it."""

    __label__ = "the {subject} receipt"
    invoice: InvoiceId | None = None
    booking: BookingCode | None = None
    subject: str
    amount: int
    expense: ExpenseId | None = None


def budget_view(budgets: Budgets, row: Budget) -> BudgetView:
    return BudgetView.from_row(row, planned=budgets.sum_limits(row.id))


def category_view(budgets: Budgets, row: Category) -> CategoryView:
    spent = budgets.sum_spending(row.id, budgets.month)
    return CategoryView.from_row(
        row, saved=row.saved or None, moved=row.moved or None, spent=spent, left=budgets.to_spend(row) - spent
    )


def report_line(budgets: Budgets, row: Category, month: str) -> ReportLine:
    is_open, spent = month == budgets.month, budgets.sum_spending(row.id, month)
    return ReportLine(
        id=row.id,
        name=row.name,
        spent=spent,
        monthly_limit=row.monthly_limit if is_open else None,
        left=budgets.to_spend(row) - spent if is_open else None,
    )


def recurring_view(row: RecurringExpense) -> RecurringView:
    return RecurringView.from_row(row)


def expense_view(row: Expense) -> ExpenseView:
    return ExpenseView.from_row(row)


def build_expense_result(budgets: Budgets, row: Expense) -> ExpenseResult:
    return ExpenseResult.from_row(row, left=budgets.compute_remaining_cents(budgets.categories[row.category]))


def receipts(budgets: Budgets, unused_only: bool) -> Iterator[ReceiptView]:
    """Yield the receipts, bookings first."""
    for flight in budgets.bookings:
        expense = find_receipt_expense(budgets, flight.id)
        if expense is None or not unused_only:
            yield ReceiptView(booking=flight.id, subject=flight.subject, amount=flight.amount, expense=expense)
    for bill in budgets.invoices:
        expense = find_receipt_expense(budgets, bill.id)
        if expense is None or not unused_only:
            yield ReceiptView(invoice=bill.id, subject=bill.subject, amount=bill.amount, expense=expense)


def find_receipt_expense(budgets: Budgets, receipt: str) -> ExpenseId | None:
    """Return the id of the expense that names a receipt, or None."""
    rows = budgets.expenses.where(receipt=receipt)
    return rows[0].id if rows else None
