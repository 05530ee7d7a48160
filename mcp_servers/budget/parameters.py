"""What the parameters of the budgets' tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..kit import Day, Seen
from ..people import EmailAddress
from ..shared_records import BookingCode, InvoiceId
from .state import BudgetCategoryId, BudgetId, ExpenseId, RecurringExpenseId

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

AskedMonth = Annotated[
    str | None,
    Field(
        pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$",
        description="Month, such as 2026-03; this one by default",
        examples=MONTHS,
    ),
    Seen("month"),
]
AskedBudget = Annotated[BudgetId | None, Field(description="Only expenses of this budget id")]
AskedCategory = Annotated[BudgetCategoryId | None, Field(description="Only expenses of this category id")]
Since = Annotated[Day | None, Field(description="First day, such as 2026-03-05")]
Until = Annotated[Day | None, Field(description="Last day, such as 2026-03-05")]
UnusedOnly = Annotated[bool, Field(description="Only receipts that no expense names")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]
