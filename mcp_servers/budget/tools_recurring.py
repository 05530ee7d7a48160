"""Tools on recurring expenses, which come on a day of every month."""

from __future__ import annotations

from ..kit import ToolError
from .month_rollover import turn
from .months import after
from .parameters import Amount, CategoryRef, DayOfMonth, RecurringRef, RegularDescription
from .rules import open_category, require_left
from .server import server
from .state import Budgets, Recurring
from .views import RecurringView, recurring_view


@server.write(idempotent=True)
def add_recurring_expense(
    budgets: Budgets,
    category: CategoryRef,
    description: RegularDescription,
    amount: Amount,
    day_of_month: DayOfMonth,
) -> RecurringView:
    """Add an expense that comes every month, from the next such day on."""
    turn(budgets)
    row, _ = open_category(budgets, category)
    for known in budgets.recurring.where(category=category):
        if known.description.casefold() == description.casefold():
            raise ToolError("recurring_exists", f"{known.id} is for {known.description} already; stop that one first.")
    free = row.monthly_limit - budgets.fixed(category)
    if amount > free:
        raise ToolError(
            "over_monthly_limit",
            f"{category} has {free} cents a month that do not recur yet; raise its limit or add less.",
        )
    is_to_come = day_of_month > budgets.now.day
    if is_to_come:
        require_left(budgets, row, amount)
    rule = Recurring(
        id=budgets.recurring.new_id(),
        category=category,
        description=description,
        amount=amount,
        day_of_month=day_of_month,
        next_month=budgets.month if is_to_come else after(budgets.month),
    )
    return recurring_view(budgets.recurring.put(rule))


@server.write(destructive=True, idempotent=True)
def stop_recurring_expense(budgets: Budgets, recurring: RecurringRef) -> RecurringView:
    """Stop a recurring expense. Those already made stay."""
    turn(budgets)
    open_category(budgets, budgets.recurring[recurring].category)
    return recurring_view(budgets.recurring.remove(recurring))
