"""Tools on accounts and their ledger."""

from __future__ import annotations

from ..kit import ToolError
from .ledger import book, require_can_send, require_not_closed
from .parameters import (
    ROWS,
    AccountRef,
    Amount,
    AskedStatus,
    Limit,
    Memo,
    Since,
    Source,
    Target,
    TransactionRef,
    Until,
)
from .server import server
from .state import Account, AccountView, Bank, Transaction, TransactionView


@server.read()
def list_accounts(bank: Bank, status: AskedStatus = None, limit: Limit = None) -> tuple[AccountView, ...]:
    """List your bank accounts with their balances in cents."""
    rows = [row for row in bank.accounts if status in (None, row.status)]
    return tuple(
        AccountView(id=row.id, kind=row.kind, balance=row.balance, currency=row.currency, status=row.status)
        for row in rows[: limit or ROWS]
    )


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
    return tuple(
        TransactionView(id=row.id, at=row.at, amount=row.amount, party=row.party) for row in rows[: limit or ROWS]
    )


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
