"""The server object of the budgets, its parameter types and its tools."""

from __future__ import annotations

from heapq import nlargest
from itertools import islice
from operator import attrgetter
from typing import Annotated

from pydantic import Field

from ..core import Day, ObservedField, Server, ToolError
from ..shared.people import EmailAddress
from ..shared.records import BookingCode, InvoiceId
from .engine import (
    editable,
    open_category,
    require_left,
    require_member,
    require_open_day,
    require_receipt,
    require_within_total,
    turn,
    update_if_due,
)
from .seed import seed
from .state import (
    BudgetCategoryId,
    BudgetId,
    Budgets,
    Category,
    Expense,
    ExpenseId,
    RecurringExpense,
    RecurringExpenseId,
    get_next_month,
)
from .views import (
    BudgetView,
    CategoryView,
    ExpenseResult,
    ExpenseView,
    MoveResult,
    ReceiptView,
    RecurringView,
    Report,
    budget_view,
    build_expense_result,
    category_view,
    expense_view,
    receipts,
    recurring_view,
    report_line,
)

server = Server("budget", "Keep budgets: categories, envelopes, expenses, recurring expenses and receipts.", seed)


AMOUNTS = [350, 480, 650, 890, 1200, 1500, 1990, 2400, 2750, 3300, 4100, 4800, 5600, 7200, 9500, 12000, 18000, 24000]
LIMITS = [2000, 3500, 5000, 6500, 8000, 10000, 12500, 15000, 20000, 25000, 30000, 36000, 45000, 60000]
CATEGORY_NAMES = [
    "allotment", "camera", "charity", "choir", "coffee", "dance class", "dentist", "fishing", "garden", "haircuts",
    "hobby room", "language course", "laundry", "magazines", "piano", "repairs", "sailing", "stamps", "tea", "toys",
]  # fmt: skip
DESCRIPTIONS = [
    "batteries", "birthday cake", "bus tickets", "cables", "concert", "desk lamp", "flowers", "fruit", "headphones",
    "museum", "notebooks", "paint", "parking", "pizza", "plants", "printer ink", "shoes", "soap", "stamps", "taxi",
]  # fmt: skip
REGULAR = [
    "cloud storage", "cleaning", "dog walker", "domain name", "gym fee", "music stream", "newspaper", "parking space",
    "phone plan", "piano lessons", "storage room", "swim pass", "theatre pass", "video stream", "water filter",
]  # fmt: skip
MONTHS = [
    "2025-11", "2025-12", "2026-01", "2026-02", "2026-04", "2026-05", "2026-07", "2026-08", "2026-10", "2026-11",
    "2027-01", "2027-03",
]  # fmt: skip
ROWS = 5

BudgetRef = Annotated[BudgetId, Field(description="Id of a budget")]
CategoryRef = Annotated[BudgetCategoryId, Field(description="Id of a category of a budget")]
SourceRef = Annotated[BudgetCategoryId, Field(description="Id of the category the money is taken from")]
TargetRef = Annotated[BudgetCategoryId, Field(description="Id of the category the money is added to")]
ExpenseRef = Annotated[ExpenseId, Field(description="Id of an expense")]
RecurringRef = Annotated[RecurringExpenseId, Field(description="Id of a recurring expense")]

Amount = Annotated[int, Field(ge=1, le=1_000_000, description="Amount in cents", examples=AMOUNTS)]
MonthlyLimit = Annotated[
    int, Field(ge=100, le=10_000_000, description="Most to be spent in a month, in cents", examples=LIMITS)
]
CategoryName = Annotated[
    str, Field(max_length=40, pattern=r"\S", description="Name of the category", examples=CATEGORY_NAMES)
]
Envelope = Annotated[bool, Field(description="Whether what is left over is kept for later months")]
Description = Annotated[
    str, Field(max_length=60, pattern=r"\S", description="What the money was spent on", examples=DESCRIPTIONS)
]
RegularDescription = Annotated[
    str, Field(max_length=60, pattern=r"\S", description="What is paid every month", examples=REGULAR)
]
DayOfMonth = Annotated[
    int,
    Field(ge=1, le=28, description="Day of the month, 1 to 28", examples=[1, 2, 3, 5, 8, 10, 12, 15, 18, 20, 25, 28]),
]
SpentOn = Annotated[Day | None, Field(description="Day of the expense, such as 2026-03-05; today by default")]
PaidBy = Annotated[EmailAddress | None, Field(description="E-mail address of the member who paid; you by default")]
InvoiceOf = Annotated[InvoiceId | None, Field(description="Id of the invoice that is its receipt")]
BookingOf = Annotated[BookingCode | None, Field(description="Code of the flight booking that is its receipt")]

MonthParam = Annotated[
    str | None,
    Field(
        pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$",
        description="Month, such as 2026-03; this one by default",
        examples=MONTHS,
    ),
    ObservedField("month"),
]
BudgetParam = Annotated[BudgetId | None, Field(description="Only expenses of this budget id")]
CategoryParam = Annotated[BudgetCategoryId | None, Field(description="Only expenses of this category id")]
Since = Annotated[Day | None, Field(description="First day, such as 2026-03-05")]
Until = Annotated[Day | None, Field(description="Last day, such as 2026-03-05")]
UnusedOnly = Annotated[bool, Field(description="Only receipts that no expense names")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]


# Tools for categories: create, set the limit, move money between them, remove.


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
    fixed, left = budgets.sum_recurring(category), budgets.compute_remaining_cents(row)
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
def move_budget(budgets: Budgets, source: SourceRef, target: TargetRef, amount: Amount) -> MoveResult:
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
    return MoveResult(source=category_view(budgets, giver), target=category_view(budgets, taker))


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


# Tools for expenses: record, list, remove.


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
) -> ExpenseResult:
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
    return build_expense_result(budgets, budgets.expenses.put(expense))


@server.write(destructive=True, idempotent=True)
def remove_expense(budgets: Budgets, expense: ExpenseRef) -> ExpenseResult:
    """Remove an expense of this month and free its receipt."""
    turn(budgets)
    row = budgets.expenses[expense]
    open_category(budgets, row.category)
    require_open_day(budgets, row.day)
    budgets.expenses.remove(expense)
    return build_expense_result(budgets, row)


@server.read()
def list_budget_expenses(
    budgets: Budgets,
    budget: BudgetParam = None,
    category: CategoryParam = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = None,
) -> tuple[ExpenseView, ...]:
    """List expenses with their receipts, the latest first; amounts in cents."""
    if since and until and until < since:
        raise ToolError("empty_period", f"{until} is before {since}; swap the two days.")
    rows = candidates(update_if_due(budgets), budget, category)
    found = [row for row in rows if (since is None or since <= row.day) and (until is None or row.day <= until)]
    return tuple(expense_view(row) for row in nlargest(limit or ROWS, found, key=attrgetter("day", "id")))


def candidates(budgets: Budgets, budget: BudgetId | None, category: BudgetCategoryId | None) -> list[Expense]:
    """Return the expenses of a category, of a budget, or all; none when the category belongs to another budget."""
    if category is not None:
        row = budgets.categories[category]
        is_other = budget is not None and budgets.budgets[budget].id != row.budget
        return [] if is_other else budgets.expenses.where(category=category)
    if budget is None:
        return list(budgets.expenses)
    own = budgets.categories.where(budget=budgets.budgets[budget].id)
    return [row for one in own for row in budgets.expenses.where(category=one.id)]


# Tools for recurring expenses, which are booked on a day of every month.


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
    free = row.monthly_limit - budgets.sum_recurring(category)
    if amount > free:
        raise ToolError(
            "over_monthly_limit",
            f"{category} has {free} cents a month that do not recur yet; raise its limit or add less.",
        )
    is_to_come = day_of_month > budgets.now.day
    if is_to_come:
        require_left(budgets, row, amount)
    rule = RecurringExpense(
        id=budgets.recurring.new_id(),
        category=category,
        description=description,
        amount=amount,
        day_of_month=day_of_month,
        next_month=budgets.month if is_to_come else get_next_month(budgets.month),
    )
    return recurring_view(budgets.recurring.put(rule))


@server.write(destructive=True, idempotent=True)
def stop_recurring_expense(budgets: Budgets, recurring: RecurringRef) -> RecurringView:
    """Stop a recurring expense. Those already made stay."""
    turn(budgets)
    open_category(budgets, budgets.recurring[recurring].category)
    return recurring_view(budgets.recurring.remove(recurring))


# Read tools: budgets, monthly reports, receipts.


@server.read()
def list_budgets(budgets: Budgets, limit: Limit = None) -> tuple[BudgetView, ...]:
    """List the budgets you are a member of, amounts in cents."""
    return tuple(budget_view(budgets, row) for row in list(budgets.budgets)[: limit or ROWS])


@server.read()
def get_budget_report(budgets: Budgets, budget: BudgetRef, month: MonthParam = None) -> Report:
    """Report a budget's month: categories with limits, spending and what is left."""
    now = update_if_due(budgets)
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
    return tuple(islice(receipts(update_if_due(budgets), unused_only), limit or ROWS))
