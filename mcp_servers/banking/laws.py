"""Invariants of the bank: they hold in every state that a session can reach."""

from __future__ import annotations

import re
from collections import Counter

from .state import Bank, is_sent
from .tools import server


@server.invariant
def balances_equal_the_ledger(bank: Bank) -> bool:
    """Every transaction is of an existing account, whose balance is the sum of its transactions."""
    sums = Counter[str]()
    for row in bank.transactions:
        sums[row.account] += row.amount
    return all(id in bank.accounts for id in sums) and all(row.balance == sums[row.id] for row in bank.accounts)


@server.invariant
def money_is_conserved(bank: Bank) -> bool:
    """In each currency, all balances together are what was paid in minus what was paid out."""
    currency = {str(row.id): row.currency for row in bank.accounts}
    total = Counter[str | None]()
    for account in bank.accounts:
        total[account.currency] += account.balance
    for row in bank.transactions:
        if row.kind != "transfer":
            total[currency.get(row.account)] -= row.amount
    return not any(total.values())


@server.invariant
def transfers_have_two_sides(bank: Bank) -> bool:
    """A transfer, and nothing else, has a counterpart: on another account of the currency, as much the other way."""
    currency = {str(row.id): row.currency for row in bank.accounts}
    for row in bank.transactions:
        other = None if row.counterpart is None else bank.transactions.get(row.counterpart)
        if (row.kind == "transfer") != (other is not None):
            return False
        if other is not None and not (
            other.counterpart == row.id
            and other.amount == -row.amount
            and other.account != row.account
            and currency.get(other.account) == currency.get(row.account)
        ):
            return False
    return True


@server.invariant
def amounts_have_the_sign_of_their_kind(bank: Bank) -> bool:
    """Deposits come in; card purchases and payments go out."""
    return all(row.kind == "transfer" or (row.amount > 0) == (row.kind == "deposit") for row in bank.transactions)


@server.invariant
def no_balance_is_below_its_overdraft(bank: Bank) -> bool:
    """No account owes more than its overdraft allows."""
    return all(row.balance >= -row.overdraft for row in bank.accounts)


@server.invariant
def no_day_sends_more_than_its_limit(bank: Bank) -> bool:
    """On no day do transfers and payments of an account exceed its daily limit."""
    sent = Counter[tuple[str, str]]()
    for row in bank.transactions:
        if is_sent(row):
            sent[row.account, row.at.date().isoformat()] -= row.amount
    limits = {str(row.id): row.daily_limit for row in bank.accounts}
    return all(amount <= limits.get(account, 0) for (account, _), amount in sent.items())


@server.invariant
def closed_accounts_are_empty(bank: Bank) -> bool:
    """A closed account has no money, no card and no payment waiting."""
    closed = [row.id for row in bank.accounts if row.status == "closed"]
    return (
        all(bank.accounts[id].balance == 0 for id in closed)
        and all(card.account not in closed for card in bank.cards)
        and all(row.source not in closed for row in bank.scheduled)
    )


@server.invariant
def scheduled_payments_can_be_made(bank: Bank) -> bool:
    """A scheduled payment has an account and a payee, lies after the day it was made, and needs no approval."""
    for row in bank.scheduled:
        account, payee = bank.accounts.get(row.source), bank.payees.get(row.payee)
        if account is None or payee is None or payee.name != row.name:
            return False
        if row.on <= row.created or not 0 < row.amount <= account.approval_limit:
            return False
    return True


@server.invariant
def cards_are_in_order(bank: Bank) -> bool:
    """A card has an account, a PIN of four digits and a limit up to its ceiling."""
    return all(
        card.account in bank.accounts
        and re.fullmatch("[0-9]{4}", card.pin) is not None
        and 0 < card.monthly_limit <= card.ceiling
        for card in bank.cards
    )


@server.invariant
def names_are_unambiguous(bank: Bank) -> bool:
    """No two accounts or cards are of one kind, and no IBAN occurs twice."""
    accounts, cards = [row.kind for row in bank.accounts], [row.kind for row in bank.cards]
    ibans = [row.iban for row in bank.accounts] + [row.iban for row in bank.payees]
    return all(len(dict.fromkeys(texts)) == len(texts) for texts in (accounts, cards, ibans))
