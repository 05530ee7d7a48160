"""What the parameters of the bank's tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..kit import Day, Seen, Sensitive
from .state import AccountId, AccountStatus, CardId, PayeeId, ScheduledPaymentId, TransactionId

AccountRef = Annotated[AccountId, Field(description="Id of one of your accounts")]
Source = Annotated[AccountId, Field(description="Id of the account the money leaves")]
Target = Annotated[AccountId, Field(description="Id of the account the money goes to")]
TransactionRef = Annotated[TransactionId, Field(description="Id of a transaction")]
PayeeRef = Annotated[PayeeId, Field(description="Id of one of your payees")]
PaymentRef = Annotated[ScheduledPaymentId, Field(description="Id of a scheduled payment")]
CardRef = Annotated[CardId, Field(description="Id of one of your cards")]

AMOUNTS = [
    500,
    950,
    1250,
    1999,
    2500,
    3600,
    4000,
    5750,
    7500,
    8800,
    12000,
    15000,
    18050,
    22500,
    30000,
    45000,
    64000,
    90000,
]
LIMITS = [10000, 25000, 40000, 60000, 75000, 90000, 120000, 150000, 180000, 250000, 320000, 400000]
IBANS = [
    "AT60123904", "BE71096123", "CH56048350", "CZ94080000", "DE12500105", "DE75512108", "DK95200001", "ES79210008",
    "FI21123456", "FR76300060", "GB33201545", "IE64115834", "IT60054281", "LU12001000", "NL02370445", "NO83301111",
    "PL61109010", "PT50002700", "SE72800008", "SI56192000",
]  # fmt: skip
COMPANY_NAMES = [
    "Acme Energy", "Borealis Water", "Cobalt Insurance", "Delta Telecom", "Harbour Gym", "Lindgren Dental",
    "Maple School",
    "Mosaic Rentals", "Nimbus Hosting", "Orchard Farm", "Pine Street Garage", "Quartz Optics", "River Housing",
    "Summit Travel",
    "Tulip Flowers", "Union Library",
]  # fmt: skip
MEMOS = [
    "rent", "groceries", "birthday gift", "invoice 2041", "concert tickets", "holiday", "school fees", "repairs",
    "lunch",
    "electricity", "tuition", "furniture", "savings plan", "thank you", "dinner", "car insurance",
]  # fmt: skip

Amount = Annotated[int, Field(ge=1, le=10_000_000, description="Amount in cents", examples=AMOUNTS)]
MonthlyLimit = Annotated[
    int, Field(ge=1000, le=10_000_000, description="New monthly spending limit in cents", examples=LIMITS)
]
PayeeName = Annotated[
    str, Field(min_length=1, max_length=60, description="Name of the person or company", examples=COMPANY_NAMES)
]
Iban = Annotated[
    str, Field(pattern=r"^[A-Z]{2}[0-9]{8,20}$", description="IBAN of the payee, without spaces", examples=IBANS)
]
PaymentDay = Annotated[Day, Field(description="Future day of the payment, such as 2026-03-05")]
CurrentPin = Annotated[str, Field(pattern=r"^[0-9]{4}$", description="Current PIN, 4 digits"), Sensitive()]
NewPin = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}$",
        description="New PIN, 4 digits",
        examples=["2860", "3917", "4069", "5183", "6724", "7305", "8246", "9471", "1594", "0638", "2749", "3582"],
    ),
    Sensitive(),
]

AskedStatus = Annotated[AccountStatus | None, Field(description="Only accounts of this status")]
AskedName = Annotated[
    str | None, Field(min_length=1, max_length=60, description="Name of the payee, or a part of it"), Seen("name")
]
AskedAccount = Annotated[AccountId | None, Field(description="Only cards of this account id")]
AskedPayee = Annotated[PayeeId | None, Field(description="Only payments to this payee id")]
Since = Annotated[Day | None, Field(description="First day, such as 2026-03-05")]
Until = Annotated[Day | None, Field(description="Last day, such as 2026-03-05")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]
Memo = Annotated[str | None, Field(min_length=1, max_length=80, description="Note for the statement", examples=MEMOS)]
ApprovalPin = Annotated[
    str | None,
    Field(pattern=r"^[0-9]{4}$", description="PIN of an active card, needed for large payments"),
    Sensitive(),
]

ROWS = 5
