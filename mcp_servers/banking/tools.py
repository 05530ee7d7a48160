"""The server object of the bank, its parameter types and its tools."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from ..core import Day, ObservedField, Sensitive, Server, ToolError
from .seed import seed
from .state import (
    Account,
    AccountId,
    AccountStatus,
    AccountView,
    Bank,
    Card,
    CardId,
    CardView,
    Payee,
    PayeeId,
    ScheduledPayment,
    ScheduledPaymentId,
    ScheduledPaymentView,
    Transaction,
    TransactionId,
    TransactionView,
    book,
    require_can_send,
    require_not_closed,
    require_open,
)

server = Server("banking", "Manage bank accounts, transfers, payees, scheduled payments and cards.", seed)


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

StatusParam = Annotated[AccountStatus | None, Field(description="Only accounts of this status")]
NameParam = Annotated[
    str | None,
    Field(min_length=1, max_length=60, description="Name of the payee, or a part of it"),
    ObservedField("name"),
]
AccountParam = Annotated[AccountId | None, Field(description="Only cards of this account id")]
PayeeParam = Annotated[PayeeId | None, Field(description="Only payments to this payee id")]
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


# Tools for accounts and their ledger.


@server.read()
def list_accounts(bank: Bank, status: StatusParam = None, limit: Limit = None) -> tuple[AccountView, ...]:
    """List your bank accounts with their balances in cents."""
    rows = [row for row in bank.accounts if status in (None, row.status)]
    return tuple(AccountView.from_row(row) for row in rows[: limit or ROWS])


@server.read()
def get_account(bank: Bank, account: AccountRef) -> Account:
    """Get one account with its balance, overdraft and limits in cents."""
    return bank.accounts[account]


@server.read()
def list_transactions(
    bank: Bank, account: AccountRef, since: Since = None, until: Until = None, limit: Limit = None
) -> tuple[TransactionView, ...]:
    """List an account's transactions, newest first; negative cents went out."""
    if since and until and until < since:
        raise ToolError("empty_period", f"{until} is before {since}; swap the two days.")
    ledger = bank.transactions.where(account=bank.accounts[account].id)
    rows = [row for row in reversed(ledger) if (since or row.at.date()) <= row.at.date() <= (until or row.at.date())]
    return tuple(TransactionView.from_row(row) for row in rows[: limit or ROWS])


@server.read()
def get_transaction(bank: Bank, transaction: TransactionRef) -> Transaction:
    """Get one transaction with its kind, memo and counterpart."""
    return bank.transactions[transaction]


@server.write()
def transfer_money(bank: Bank, source: Source, target: Target, amount: Amount, memo: Memo = None) -> Transaction:
    """Transfer money between two of your own accounts."""
    giver, taker = bank.accounts[source], bank.accounts[target]
    if source == target:
        raise ToolError("same_account", "Source and target are the same account; name two different ones.")
    require_not_closed(taker)
    if giver.currency != taker.currency:
        raise ToolError(
            "currency_mismatch",
            f"{source} is in {giver.currency} and {target} in {taker.currency}; use accounts of one currency.",
        )
    require_can_send(bank, giver, amount)
    out = book(bank, source, "transfer", -amount, taker.kind, memo)
    into = book(bank, target, "transfer", amount, giver.kind, memo, counterpart=out.id)
    return bank.transactions.change(out.id, counterpart=into.id)


# Tools for cards: status, monthly limit, PIN.


def view(card: Card) -> CardView:
    return CardView.from_row(card)


def require_unexpired(bank: Bank, id: CardId) -> Card:
    """Return the card. Raises ToolError when it has expired, because no tool can change that."""
    card = bank.cards[id]
    if card.status == "expired":
        raise ToolError("card_expired", f"Card {id} has expired; use another card.")
    return card


def usable(bank: Bank, id: CardId) -> Card:
    card = require_unexpired(bank, id)
    if card.status == "frozen":
        raise ToolError("card_frozen", f"Card {id} is frozen; unfreeze it first.")
    return card


@server.read()
def list_cards(bank: Bank, account: AccountParam = None, limit: Limit = None) -> tuple[CardView, ...]:
    """List your cards with their status and monthly limit in cents."""
    wanted = None if account is None else bank.accounts[account].id
    rows = [card for card in bank.cards if wanted in (None, card.account)]
    return tuple(view(card) for card in rows[: limit or ROWS])


@server.write(idempotent=True)
def freeze_card(bank: Bank, card: CardRef) -> CardView:
    """Freeze a card, so that it stops working until unfrozen."""
    if require_unexpired(bank, card).status == "frozen":
        raise ToolError("already_frozen", f"Card {card} is frozen already; nothing is left to do.")
    return view(bank.cards.change(card, status="frozen"))


@server.write(idempotent=True)
def unfreeze_card(bank: Bank, card: CardRef) -> CardView:
    """Unfreeze a frozen card, so that it works again."""
    if require_unexpired(bank, card).status != "frozen":
        raise ToolError("not_frozen", f"Card {card} is not frozen; nothing is left to do.")
    return view(bank.cards.change(card, status="active"))


@server.write(idempotent=True)
def set_card_limit(bank: Bank, card: CardRef, monthly_limit: MonthlyLimit) -> CardView:
    """Set how much a card may spend in a month."""
    ceiling = usable(bank, card).ceiling
    if monthly_limit > ceiling:
        raise ToolError("limit_too_high", f"Card {card} can have at most {ceiling} cents a month; set a lower limit.")
    return view(bank.cards.change(card, monthly_limit=monthly_limit))


@server.write(idempotent=True)
def change_card_pin(bank: Bank, card: CardRef, pin: CurrentPin, new_pin: NewPin) -> CardView:
    """Change a card's PIN, given the current one."""
    if pin != usable(bank, card).pin:
        raise ToolError("wrong_pin", f"This is not the current PIN of card {card}; ask for the right one.")
    if new_pin == pin:
        raise ToolError("pin_unchanged", "The new PIN is the current one; choose another.")
    if is_weak(new_pin):
        raise ToolError("weak_pin", "The new PIN is too easy to guess; avoid equal or consecutive digits.")
    return view(bank.cards.change(card, pin=new_pin))


@server.known_by_heart
def pins(bank: Bank) -> dict[tuple[str, str], str]:
    """Return the PIN of every card; the user knows them all."""
    return {(card.id, "pin"): card.pin for card in bank.cards}


def is_weak(pin: str) -> bool:
    """Return whether all digits follow each other by the same step of -1, 0 or 1: 4321, 7777, 1234."""
    steps = [int(right) - int(left) for left, right in pairwise(pin)]
    return steps[0] in (-1, 0, 1) and len(dict.fromkeys(steps)) == 1


# Tools for payees, the people and companies that may be paid.


@server.read()
def find_payees(bank: Bank, name: NameParam = None, limit: Limit = None) -> tuple[Payee, ...]:
    """Find your payees, all of them or by name."""
    wanted = (name or "").casefold()
    return tuple([row for row in bank.payees if wanted in row.name.casefold()][: limit or ROWS])


@server.write(idempotent=True)
def add_payee(bank: Bank, name: PayeeName, iban: Iban) -> Payee:
    """Add a payee, so that it can be paid."""
    if any(account.iban == iban for account in bank.accounts):
        raise ToolError("own_account", f"{iban} is your own account; use transfer_money to send money there.")
    known = bank.payees.where(iban=iban)
    if known:
        raise ToolError("payee_exists", f"{known[0].id} ({known[0].name}) already has this IBAN; use that payee.")
    return bank.payees.put(Payee(id=bank.payees.new_id(), name=name, iban=iban))


@server.write(destructive=True, idempotent=True)
def remove_payee(bank: Bank, payee: PayeeRef) -> Payee:
    """Remove a payee that has no scheduled payments."""
    bank.payees[payee]
    waiting = bank.scheduled.where(payee=payee)
    if waiting:
        raise ToolError("payee_in_use", f"{waiting[0].id} is still to be paid to {payee}; cancel it first.")
    return bank.payees.remove(payee)


# Tools that pay payees, now or on a later day.

FURTHEST = timedelta(days=365)


@server.write()
def pay_payee(
    bank: Bank, source: Source, payee: PayeeRef, amount: Amount, memo: Memo = None, pin: ApprovalPin = None
) -> Transaction:
    """Pay a payee now. Above the account's approval limit a card PIN is needed."""
    account, receiver = bank.accounts[source], bank.payees[payee]
    require_open(account)
    require_approval(bank, account, amount, pin)
    require_can_send(bank, account, amount)
    return book(bank, source, "payment", -amount, receiver.name, memo)


def require_approval(bank: Bank, account: Account, amount: int, pin: str | None) -> None:
    if pin is None and amount > account.approval_limit:
        raise ToolError(
            "pin_required", f"Payments above {account.approval_limit} cents need the PIN of a card; ask for it."
        )
    if pin is not None and not bank.approves(pin):
        raise ToolError("wrong_pin", "This is not the PIN of any of your active cards; ask for the right one.")


@server.write(idempotent=True)
def schedule_payment(
    bank: Bank, source: Source, payee: PayeeRef, amount: Amount, on: PaymentDay, memo: Memo = None
) -> ScheduledPayment:
    """Schedule a payment to a payee on a future day."""
    account, receiver = bank.accounts[source], bank.payees[payee]
    require_open(account)
    require_schedulable_day(bank.now.date(), on)
    if amount > account.approval_limit:
        raise ToolError(
            "over_approval_limit",
            f"Only up to {account.approval_limit} cents can be scheduled; schedule less, or use pay_payee with a PIN.",
        )
    for row in bank.scheduled.where(payee=payee):
        if (row.source, row.amount, row.on) == (source, amount, on):
            raise ToolError("already_scheduled", f"{row.id} is that very payment; cancel it or change day or amount.")
    return bank.scheduled.put(
        ScheduledPayment(
            id=bank.scheduled.new_id(),
            source=source,
            payee=payee,
            name=receiver.name,
            amount=amount,
            currency=account.currency,
            on=on,
            created=bank.now.date(),
            memo=memo,
        )
    )


def require_schedulable_day(today: date, day: date) -> None:
    if day <= today:
        raise ToolError("not_in_future", f"{day} is not after today, {today}; name a later day or use pay_payee.")
    if day > today + FURTHEST:
        raise ToolError("too_far_ahead", f"{day} is more than a year ahead; name a day until {today + FURTHEST}.")


@server.read()
def list_scheduled_payments(
    bank: Bank, payee: PayeeParam = None, limit: Limit = None
) -> tuple[ScheduledPaymentView, ...]:
    """List scheduled payments, the next ones first."""
    rows = bank.scheduled if payee is None else bank.scheduled.where(payee=bank.payees[payee].id)
    return tuple(
        ScheduledPaymentView.from_row(row) for row in sorted(rows, key=lambda row: (row.on, row.id))[: limit or ROWS]
    )


@server.write(destructive=True, idempotent=True)
def cancel_scheduled_payment(bank: Bank, payment: PaymentRef) -> ScheduledPayment:
    """Cancel a scheduled payment before it is paid."""
    return bank.scheduled.remove(payment)
