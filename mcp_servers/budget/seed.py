"""Initial state of the budgets: categories with months of expenses, recurring expenses, used and unused receipts."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import cast, get_start_time
from ..shared.records import bookings, invoices
from .state import (
    BookingReceipt,
    Budget,
    Budgets,
    Category,
    Expense,
    InvoiceReceipt,
    RecurringExpense,
    day_in,
    get_next_month,
    month_of,
    months,
)

Id = TypeVar("Id", bound=str)

TEAMS = (
    "marketing", "office", "research", "design", "sales trip", "summer party", "sports club", "flat share", "support",
    "training", "band", "street fair",
)  # fmt: skip
CATEGORIES = (
    "books", "cleaning", "clothes", "donations", "equipment", "food", "furniture", "gifts", "health", "heating",
    "insurance", "internet", "lunches", "phone", "postage", "printing", "rent", "software", "sports", "stationery",
    "supplies", "taxis", "tickets", "travel",
)  # fmt: skip
SHOPPING = (
    "air filter", "bread", "calendar", "candles", "cutlery", "drill", "envelopes", "frames", "glue", "hammer", "jacket",
    "juice", "keys", "light bulbs", "maps", "nails", "paper", "pens", "rice", "rope", "salad", "scarf", "shelf", "tape",
    "towels", "umbrella", "vase", "wool",
)  # fmt: skip
REGULAR = (
    "alarm service", "backup plan", "bike lease", "coffee plan", "fruit basket", "laundry plan", "locker", "magazine",
    "membership", "parking permit", "plant care", "postbox", "radio fee", "rental tools", "window cleaning",
)  # fmt: skip


class Size(NamedTuple):
    """How many rows a world has; expenses are those of a category and a month, receipts the invoices known."""

    budgets: int
    categories: int
    months: int
    expenses: int
    recurring: int
    receipts: int


SIZES = {
    "small": Size(budgets=3, categories=3, months=1, expenses=1, recurring=1, receipts=12),
    "default": Size(budgets=5, categories=6, months=3, expenses=3, recurring=2, receipts=120),
    "large": Size(budgets=8, categories=9, months=12, expenses=4, recurring=3, receipts=1_200),
}


def seed(seed: int, size: str) -> Budgets:
    """Return the budgets of a seed; sizes are small, default and large."""
    budgets, draw, scale = Budgets(seed, get_start_time(seed)), Draw("budget", seed, size), SIZES[size]
    if size == "large":
        budgets.expenses.width = 6
    for bill in invoices(seed, scale.receipts):
        budgets.invoices.put(InvoiceReceipt.from_row(bill))
    for flight in bookings(seed):
        budgets.bookings.put(BookingReceipt(id=flight.code, subject=flight.destination.name, amount=flight.price))
    names = draw.shuffle_items(TEAMS)
    for place in range(scale.budgets):
        put_budget(budgets, draw, scale, "personal" if place == 0 else names[place], place)
    put_receipts(budgets, draw)
    return budgets


def put_budget(budgets: Budgets, draw: Draw, scale: Size, name: str, place: int) -> None:
    """Add a budget: the first is the user's alone, the others belong to teams, and the last may be view-only."""
    user, *others = (person.id for person in cast(budgets.seed, 12))
    team = draw.sample(others, draw.integer(2, 4)) if place else []
    limits = [draw.integer(8, 60) * 1_000 for _ in range(scale.categories)]
    budget = budgets.budgets.put(
        Budget(
            id=derive_row_id(budgets.budgets, name),
            name=name,
            access="view" if place == scale.budgets - 1 and draw.chance(0.7) else "edit",
            monthly_total=sum(limits) + draw.integer(10, 60) * 1_000,
            receipt_above=draw.choice((15_000, 20_000, 25_000)) if place else 30_000,
            members=(user, *team),
        )
    )
    for word, limit in zip(draw.sample(CATEGORIES, scale.categories), limits, strict=True):
        put_category(budgets, draw, scale, budget, word, limit)


def put_category(budgets: Budgets, draw: Draw, scale: Size, budget: Budget, name: str, limit: int) -> None:
    """Add a category with past expenses that stay within its limit; some categories have never been used."""
    envelope, unused = draw.chance(0.3), draw.chance(0.2)
    row = budgets.categories.put(
        Category(
            id=derive_row_id(budgets.categories, f"{budget.id}/{name}"),
            budget=budget.id,
            name=name,
            monthly_limit=limit,
            envelope=envelope,
            month=budgets.month,
            saved=draw.integer(5, 200) * 100 if envelope and not unused else 0,
        )
    )
    if unused:
        return
    first = subtract_months(budgets.month, scale.months)
    for word in draw.sample(REGULAR, draw.integer(0, scale.recurring)):
        put_recurring(budgets, draw, budget, row, word, first, limit // (4 * scale.recurring))
    for month in months(first, budgets.month):
        for number in range(scale.expenses):
            put_expense(budgets, draw, budget, row, month, number, limit // (3 * scale.expenses))


def subtract_months(month: str, count: int) -> str:
    """Return the month that is `count` months earlier."""
    day = day_in(month, 1)
    for _ in range(count):
        day = day_in(month_of(day - timedelta(days=1)), 1)
    return month_of(day)


def put_recurring(
    budgets: Budgets, draw: Draw, budget: Budget, row: Category, word: str, first: str, most: int
) -> None:
    """Add a recurring expense and its expenses of every month from `first` until today."""
    day, amount, today = draw.integer(1, 28), draw.integer(2, max(2, most // 100)) * 100, budgets.now.date()
    last = budgets.month if day <= today.day else subtract_months(budgets.month, 1)
    rule = budgets.recurring.put(
        RecurringExpense(
            id=derive_row_id(budgets.recurring, f"{row.id}/{word}"),
            category=row.id,
            description=word,
            amount=amount,
            day_of_month=day,
            next_month=get_next_month(last),
        )
    )
    for month in months(first, last):
        budgets.expenses.put(
            Expense(
                id=derive_row_id(budgets.expenses, f"{rule.id}/{month}"),
                category=row.id,
                description=word,
                amount=amount,
                day=day_in(month, day),
                paid_by=budget.members[0],
                recurring=rule.id,
            )
        )


def put_expense(
    budgets: Budgets, draw: Draw, budget: Budget, row: Category, month: str, number: int, most: int
) -> None:
    """Add one expense of a category in a month."""
    last = budgets.now.day if month == budgets.month else 28
    budgets.expenses.put(
        Expense(
            id=derive_row_id(budgets.expenses, f"{row.id}/{month}/{number}"),
            category=row.id,
            description=draw.choice(SHOPPING),
            amount=draw.integer(150, min(most, budget.receipt_above)),
            day=day_in(month, min(last, 28) - draw.integer(0, min(last, 28) - 1)),
            paid_by=draw.choice(budget.members),
        )
    )


def put_receipts(budgets: Budgets, draw: Draw) -> None:
    """Attach up to a third of the receipts, each to a different expense that it covers."""
    expenses = draw.shuffle_items([row for row in budgets.expenses if row.recurring is None])
    flights = list(budgets.bookings)[:1]
    for flight in flights:
        if expenses and expenses[-1].amount <= flight.amount:
            budgets.expenses.change(expenses.pop().id, booking=flight.id)
    for bill in list(budgets.invoices)[::3]:
        if expenses and expenses[-1].amount <= bill.amount:
            budgets.expenses.change(expenses.pop().id, invoice=bill.id)
