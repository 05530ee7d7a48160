"""Tools on categories: make, limit, move money between them, remove."""

from __future__ import annotations

from ..kit import ToolError
from .month_rollover import turn
from .parameters import Amount, BudgetRef, CategoryName, CategoryRef, Envelope, MonthlyLimit, SourceRef, TargetRef
from .rules import editable, open_category, require_left, require_within_total
from .server import server
from .state import Budgets, Category
from .views import CategoryView, Moved, category_view


@server.write(idempotent=True)
def create_budget_category(
    budgets: Budgets, budget: BudgetRef, name: CategoryName, monthly_limit: MonthlyLimit, envelope: Envelope = False
) -> CategoryView:
    """Create a category of a budget with a monthly limit."""
    turn(budgets)
    owner = editable(budgets, budget)
    for known in budgets.categories.where(budget=budget):
        if known.name.casefold() == name.casefold():
            raise ToolError("category_exists", f"{budget} has the category {known.id} ({known.name}); use that one.")
    require_within_total(budgets, owner, monthly_limit)
    row = Category(
        id=budgets.categories.new_id(),
        budget=budget,
        name=name,
        monthly_limit=monthly_limit,
        envelope=envelope,
        month=budgets.month,
    )
    return category_view(budgets, budgets.categories.put(row))


@server.write(idempotent=True)
def set_category_limit(budgets: Budgets, category: CategoryRef, monthly_limit: MonthlyLimit) -> CategoryView:
    """Set what a category may spend a month, from this month on."""
    turn(budgets)
    row, budget = open_category(budgets, category)
    more = monthly_limit - row.monthly_limit
    if more == 0:
        raise ToolError("limit_unchanged", f"{category} has that limit already; nothing is left to do.")
    require_within_total(budgets, budget, more)
    fixed, left = budgets.fixed(category), budgets.left(row)
    if monthly_limit < fixed:
        raise ToolError(
            "below_recurring", f"Recurring expenses of {category} take {fixed} cents a month; set at least these."
        )
    if left + more < 0:
        raise ToolError(
            "below_spent", f"{category} has only {left} cents left this month; lower its limit by no more than these."
        )
    return category_view(budgets, budgets.categories.change(category, monthly_limit=monthly_limit))


@server.write()
def move_budget(budgets: Budgets, source: SourceRef, target: TargetRef, amount: Amount) -> Moved:
    """Move unspent money between two categories of a budget, for this month."""
    turn(budgets)
    giver, _ = open_category(budgets, source)
    taker = budgets.categories[target]
    if source == target:
        raise ToolError("same_category", "Source and target are the same category; name two different ones.")
    if giver.budget != taker.budget:
        raise ToolError(
            "other_budget", f"{source} is of {giver.budget} and {target} of {taker.budget}; stay within one budget."
        )
    require_left(budgets, giver, amount)
    giver = budgets.categories.change(source, moved=giver.moved - amount)
    taker = budgets.categories.change(target, moved=taker.moved + amount)
    return Moved(source=category_view(budgets, giver), target=category_view(budgets, taker))


@server.write(destructive=True, idempotent=True)
def remove_budget_category(budgets: Budgets, category: CategoryRef) -> CategoryView:
    """Remove a category that has no expenses and no money of other months."""
    turn(budgets)
    row, _ = open_category(budgets, category)
    rules, expenses = budgets.recurring.where(category=category), budgets.expenses.where(category=category)
    if rules:
        raise ToolError(
            "category_in_use", f"{rules[0].id} ({rules[0].description}) recurs in {category}; stop it first."
        )
    if expenses:
        raise ToolError("category_in_use", f"{category} has {len(expenses)} expenses, which stay; keep it.")
    if row.saved or row.moved:
        raise ToolError(
            "category_holds_money",
            f"{category} has money saved or moved this month; move it back, or wait for the next month.",
        )
    view = category_view(budgets, row)
    budgets.categories.remove(category)
    return view
