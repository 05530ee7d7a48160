"""Tools that pay payees, now or on a later day."""

from __future__ import annotations

from datetime import date, timedelta

from ..kit import ToolError
from .ledger import book, require_can_send, require_open
from .parameters import ROWS, Amount, ApprovalPin, AskedPayee, Limit, Memo, PayeeRef, PaymentDay, PaymentRef, Source
from .server import server
from .state import Account, Bank, ScheduledPayment, ScheduledPaymentView, Transaction

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
    bank: Bank, payee: AskedPayee = None, limit: Limit = None
) -> tuple[ScheduledPaymentView, ...]:
    """List scheduled payments, the next ones first."""
    rows = bank.scheduled if payee is None else bank.scheduled.where(payee=bank.payees[payee].id)
    return tuple(
        ScheduledPaymentView(
            id=row.id, payee=row.payee, name=row.name, amount=row.amount, currency=row.currency, on=row.on
        )
        for row in sorted(rows, key=lambda row: (row.on, row.id))[: limit or ROWS]
    )


@server.write(destructive=True, idempotent=True)
def cancel_scheduled_payment(bank: Bank, payment: PaymentRef) -> ScheduledPayment:
    """Cancel a scheduled payment before it is paid."""
    return bank.scheduled.remove(payment)
