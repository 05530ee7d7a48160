"""State of the budgets: categories with limits, expenses, recurring expenses, and receipts for expenses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import cached_property, lru_cache
from typing import Literal, NewType

from ..core import Day, Entity, State, Table, table
from ..shared.people import EmailAddress
from ..shared.records import BookingCode, InvoiceId


@lru_cache(maxsize=1 << 12)
def month_of(day: date) -> str:
    """Return the month of a day, such as 2026-03."""
    return f"{day.year:04d}-{day.month:02d}"


def get_next_month(month: str) -> str:
    """Return the next month."""
    year, number = int(month[:4]), int(month[5:])
    return f"{year + number // 12:04d}-{number % 12 + 1:02d}"


def months(first: str, last: str) -> Iterator[str]:
    """Yield the months from `first` to `last`, both included; none when `last` is before `first`."""
    while first <= last:
        yield first
        first = get_next_month(first)


def day_in(month: str, day: int) -> date:
    """Return a day of a month, up to the 28th, which every month has."""
    return date(int(month[:4]), int(month[5:]), day)


BudgetId = NewType("BudgetId", str)
BudgetCategoryId = NewType("BudgetCategoryId", str)
ExpenseId = NewType("ExpenseId", str)
RecurringExpenseId = NewType("RecurringExpenseId", str)

Access = Literal["edit", "view"]


class Budget(Entity):
    """A budget of its members, the user among them; its categories may plan up to `monthly_total` cents a month."""

    __label__ = "the {name} budget"
    id: BudgetId
    name: str
    access: Access
    monthly_total: int
    receipt_above: int
    members: tuple[EmailAddress, ...]


class Category(Entity):
    """What may be spent on something in a month, in cents; an envelope keeps what is left over for later months.

    `saved` was left over before `month`, the month that is open; `moved` came from other categories in it, or went.
    """

    __label__ = "the {name} category"
    id: BudgetCategoryId
    budget: BudgetId
    name: str
    monthly_limit: int
    envelope: bool
    month: str
    saved: int = 0
    moved: int = 0

    @property
    def allowance(self) -> int:
        """Cents that may be spent in the open month."""
        return self.monthly_limit + self.saved + self.moved


class Expense(Entity):
    """Money spent on a day; a receipt is an invoice or a booking, `recurring` the rule that made it."""

    __label__ = "the expense for {description}"
    id: ExpenseId
    category: BudgetCategoryId
    description: str
    amount: int
    day: Day
    paid_by: EmailAddress
    invoice: InvoiceId | None = None
    booking: BookingCode | None = None
    recurring: RecurringExpenseId | None = None

    @property
    def bucket(self) -> str:
        """The category and month of the expense, used as the key for sums."""
        return bucket_of(self.category, month_of(self.day))

    @property
    def receipt(self) -> str | None:
        return self.invoice or self.booking


class RecurringExpense(Entity):
    """An expense that comes on a day of every month; `next_month` is the first month it has not come in."""

    __label__ = "the recurring expense for {description}"
    id: RecurringExpenseId
    category: BudgetCategoryId
    description: str
    amount: int
    day_of_month: int
    next_month: str

    @cached_property
    def next_day(self) -> date:
        return day_in(self.next_month, self.day_of_month)


class InvoiceReceipt(Entity):
    """An invoice that an expense may name."""

    __label__ = "the {subject} invoice"
    id: InvoiceId
    subject: str
    amount: int


class BookingReceipt(Entity):
    """A flight that an expense may name."""

    __label__ = "the flight to {subject}"
    id: BookingCode
    subject: str
    amount: int


class Budgets(State):
    """All budgets the user is a member of."""

    budgets: Table[BudgetId, Budget] = table("BGT", "budget")
    categories: Table[BudgetCategoryId, Category] = table("BCG", "category", index=("budget",))
    expenses: Table[ExpenseId, Expense] = table("BEX", "expense", index=("bucket", "category", "receipt"))
    recurring: Table[RecurringExpenseId, RecurringExpense] = table("BRX", "recurring expense", index=("category",))
    invoices: Table[InvoiceId, InvoiceReceipt] = table("IVC", "invoice")
    bookings: Table[BookingCode, BookingReceipt] = table("BKG", "booking")

    @property
    def month(self) -> str:
        """The month that is open now."""
        return month_of(self.now.date())

    def sum_spending(self, category: BudgetCategoryId, month: str) -> int:
        """Return the cents spent on a category in a month."""
        return sum([row.amount for row in self.expenses.where(bucket=bucket_of(category, month))])

    def sum_pending_recurring(self, category: BudgetCategoryId) -> int:
        """Return the cents that recurring expenses will still take from a category in the open month."""
        return sum([row.amount for row in self.recurring.where(category=category, next_month=self.month)])

    def sum_recurring(self, category: BudgetCategoryId) -> int:
        """Return the cents that recurring expenses take from a category every month."""
        return sum([row.amount for row in self.recurring.where(category=category)])

    def to_spend(self, row: Category) -> int:
        """Return the cents of the open month that recurring expenses will not take."""
        return row.allowance - self.sum_pending_recurring(row.id)

    def compute_remaining_cents(self, row: Category) -> int:
        """Return the cents that can still be spent or moved away in the open month."""
        return self.to_spend(row) - self.sum_spending(row.id, self.month)

    def sum_limits(self, budget: BudgetId) -> int:
        """Return the cents that the categories of a budget plan together per month."""
        return sum([row.monthly_limit for row in self.categories.where(budget=budget)])


def bucket_of(category: BudgetCategoryId, month: str) -> str:
    return f"{category}/{month}"
