"""Tools on payees, the people and companies that may be paid."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, AskedName, Iban, Limit, PayeeName, PayeeRef
from .server import server
from .state import Bank, Payee


@server.read()
def find_payees(bank: Bank, name: AskedName = None, limit: Limit = None) -> tuple[Payee, ...]:
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
