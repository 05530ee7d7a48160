"""State of a bank customer: accounts, the ledger, payees, scheduled payments, cards."""

from __future__ import annotations

from typing import Literal, NewType

from ..core import Day, Entity, Minute, State, Table, ToolError, table

AccountId = NewType("AccountId", str)
TransactionId = NewType("TransactionId", str)
PayeeId = NewType("PayeeId", str)
ScheduledPaymentId = NewType("ScheduledPaymentId", str)
CardId = NewType("CardId", str)

Currency = Literal["EUR", "USD"]
AccountStatus = Literal["open", "frozen", "closed"]
CardStatus = Literal["active", "frozen", "expired"]
TransactionKind = Literal["deposit", "card", "transfer", "payment"]


class Account(Entity):
    """Money in one currency; `balance` is in cents and equals the sum of the account's transactions."""

    __label__ = "the {kind} account"
    id: AccountId
    kind: str
    balance: int
    currency: Currency
    status: AccountStatus
    iban: str
    overdraft: int
    daily_limit: int
    approval_limit: int


class AccountView(Entity):
    """An account in a list."""

    __label__ = "the {kind} account"
    id: AccountId
    kind: str
    balance: int
    currency: Currency
    status: AccountStatus


class Transaction(Entity):
    """One line of the ledger: positive cents came in, negative went out; a transfer has a counterpart elsewhere."""

    __label__ = "the {party} transaction"
    id: TransactionId
    account: AccountId
    at: Minute
    kind: TransactionKind
    amount: int
    party: str
    memo: str | None = None
    counterpart: TransactionId | None = None


class TransactionView(Entity):
    """A transaction in a list."""

    __label__ = "the {party} transaction"
    id: TransactionId
    at: Minute
    amount: int
    party: str


class Payee(Entity):
    """A person or company outside the bank that may be paid."""

    __label__ = "{name}"
    id: PayeeId
    name: str
    iban: str


class ScheduledPayment(Entity):
    """A payment that is to go out on a later day; `name` is the payee's."""

    __label__ = "the scheduled payment to {name}"
    id: ScheduledPaymentId
    source: AccountId
    payee: PayeeId
    name: str
    amount: int
    currency: Currency
    on: Day
    created: Day
    memo: str | None = None


class ScheduledPaymentView(Entity):
    """A scheduled payment in a list."""

    __label__ = "the scheduled payment to {name}"
    id: ScheduledPaymentId
    payee: PayeeId
    name: str
    amount: int
    currency: Currency
    on: Day


class Card(Entity):
    """A card; its PIN never leaves the bank. `ceiling` is the highest monthly limit the bank allows."""

    __label__ = "the {kind} card"
    id: CardId
    kind: str
    account: AccountId
    status: CardStatus
    monthly_limit: int
    ceiling: int
    pin: str


class CardView(Entity):
    """A card as its holder sees it: without the PIN."""

    __label__ = "the {kind} card"
    id: CardId
    kind: str
    account: AccountId
    status: CardStatus
    monthly_limit: int


class Bank(State):
    """Everything one customer has at the bank."""

    accounts: Table[AccountId, Account] = table("ACC", "account")
    transactions: Table[TransactionId, Transaction] = table("TXN", "transaction", index=("account",))
    payees: Table[PayeeId, Payee] = table("PYE", "payee", index=("iban",))
    scheduled: Table[ScheduledPaymentId, ScheduledPayment] = table("SCH", "scheduled payment", index=("payee",))
    cards: Table[CardId, Card] = table("CRD", "card")

    def sent_today(self, account: AccountId) -> int:
        """Return the cents that left the account today by transfer or payment."""
        today = self.now.date()
        rows = self.transactions.where(account=account)
        return sum(-row.amount for row in rows if is_sent(row) and row.at.date() == today)

    def approves(self, pin: str) -> bool:
        """Return whether the PIN belongs to an active card; such a PIN approves large payments."""
        return any(card.pin == pin for card in self.cards if card.status == "active")


def is_sent(row: Transaction) -> bool:
    """Return whether this transaction counts towards the daily limit."""
    return row.amount < 0 and row.kind in ("transfer", "payment")


def require_not_closed(account: Account) -> None:
    if account.status == "closed":
        raise ToolError("account_closed", f"Account {account.id} is closed; use another account.")


def require_open(account: Account) -> None:
    require_not_closed(account)
    if account.status == "frozen":
        raise ToolError("account_frozen", f"Account {account.id} is frozen; nothing can leave it. Use another account.")


def require_can_send(bank: Bank, account: Account, amount: int) -> None:
    """Raise ToolError unless the account can send this many cents now."""
    require_open(account)
    available = account.balance + account.overdraft
    if amount > available:
        raise ToolError("insufficient_funds", f"Account {account.id} has only {available} cents available; send less.")
    left = account.daily_limit - bank.sent_today(account.id)
    if amount > left:
        raise ToolError(
            "daily_limit_exceeded", f"Account {account.id} can send only {left} cents more today; send less."
        )


def book(
    bank: Bank,
    account: AccountId,
    kind: TransactionKind,
    amount: int,
    party: str,
    memo: str | None,
    counterpart: TransactionId | None = None,
) -> Transaction:
    """Add a ledger line and change the balance by its amount."""
    bank.accounts.change(account, balance=bank.accounts[account].balance + amount)
    return bank.transactions.put(
        Transaction(
            id=bank.transactions.new_id(),
            account=account,
            at=bank.now,
            kind=kind,
            amount=amount,
            party=party,
            memo=memo,
            counterpart=counterpart,
        )
    )
