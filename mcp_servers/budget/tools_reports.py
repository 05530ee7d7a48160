"""Tools that look: budgets, their months, receipts."""

from __future__ import annotations

from itertools import islice

from ..kit import ToolError
from .month_rollover import turned
from .parameters import ROWS, AskedMonth, BudgetRef, Limit, UnusedOnly
from .server import server
from .state import Budgets
from .views import BudgetView, ReceiptView, Report, budget_view, receipts, recurring_view, report_line


@server.read()
def list_budgets(budgets: Budgets, limit: Limit = None) -> tuple[BudgetView, ...]:
    """List the budgets you are a member of, amounts in cents."""
    return tuple(budget_view(budgets, row) for row in list(budgets.budgets)[: limit or ROWS])


@server.read()
def get_budget_report(budgets: Budgets, budget: BudgetRef, month: AskedMonth = None) -> Report:
    """Report a budget's month: categories with limits, spending and what is left."""
    now = turned(budgets)
    row, wanted = now.budgets[budget], month or now.month
    if wanted > now.month:
        raise ToolError("month_to_come", f"{wanted} has not begun; ask for {now.month} or an earlier month.")
    lines = tuple([report_line(now, category, wanted) for category in now.categories.where(budget=budget)])
    rules = [rule for line in lines for rule in now.recurring.where(category=line.id)] if wanted == now.month else []
    return Report(
        id=row.id,
        name=row.name,
        month=wanted,
        spent=sum(line.spent for line in lines),
        lines=lines,
        recurring=tuple([recurring_view(rule) for rule in rules]),
    )


@server.read()
def list_receipts(budgets: Budgets, unused_only: UnusedOnly = False, limit: Limit = None) -> tuple[ReceiptView, ...]:
    """List invoices and flight bookings that an expense may name as its receipt."""
    return tuple(islice(receipts(turned(budgets), unused_only), limit or ROWS))
