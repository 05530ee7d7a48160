"""How money moves: what must hold before it leaves an account, and the booking itself."""

from __future__ import annotations

from ..kit import ToolError
from .state import Account, AccountId, Bank, Transaction, TransactionId, TransactionKind


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
    """Write a line of the ledger and change the balance by its amount."""
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
