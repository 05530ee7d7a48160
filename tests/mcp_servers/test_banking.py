"""What the bank does and refuses, checked through its own tools in one small world."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from calling import check_refusals, do, refused, world_with

from mcp_servers.banking import server
from mcp_servers.banking.state import Account, Bank, Card, Payee
from mcp_servers.core import Session

IBAN = "DE12500105"
EASY_PINS = ("0000", "1234", "9876", "7777")


def bank_with(**fields: Any) -> tuple[Session[Bank], Account, Account]:
    """A session with one more account, which has these fields and no money; that account, and the richest open one."""

    def add_account(bank: Bank) -> None:
        like = next(row for row in bank.accounts if row.status == "open")
        own = {"id": "ACC-0000", "kind": "spare", "iban": IBAN, "balance": 0, "overdraft": 0, **fields}
        bank.accounts.put(replace(like, **own))

    session = world_with(server, add_account)
    return session, session.state.accounts["ACC-0000"], rich_pair(session)[0]


def rich_pair(session: Session[Bank]) -> tuple[Account, Account]:
    """Two open accounts of one currency; the first is the richest that has a partner."""
    rows = sorted((row for row in session.state.accounts if row.status == "open"), key=lambda row: -row.balance)
    return next((a, b) for a in rows for b in rows if a.id != b.id and a.currency == b.currency)


def active_card(bank: Bank) -> Card:
    return next(card for card in bank.cards if card.status == "active")


def free_payee(session: Session[Bank]) -> Payee:
    return next(row for row in session.state.payees if not session.state.scheduled.where(payee=row.id))


@pytest.fixture
def bank() -> Session[Bank]:
    return server.open(7, "small")


def test_what_the_bank_refuses(bank: Session[Bank]) -> None:
    source, payee, card = rich_pair(bank)[0], free_payee(bank), active_card(bank.state)
    today, pin = bank.state.now.date(), "2860" if card.pin != "2860" else "3917"
    payment = {"source": source.id, "payee": payee.id, "amount": 1}
    days = [(-1, "not_in_future"), (0, "not_in_future"), (366, "too_far_ahead")]
    new_pin = {"card": card.id, "pin": card.pin}
    check_refusals(
        bank,
        [
            ("transfer_money", {"source": source.id, "target": source.id, "amount": 1}, "same_account"),
            ("add_payee", {"name": "Acme Energy", "iban": payee.iban}, "payee_exists"),
            ("add_payee", {"name": "Acme Energy", "iban": source.iban}, "own_account"),
            ("change_card_pin", {**new_pin, "pin": pin, "new_pin": "5183"}, "wrong_pin"),
            ("change_card_pin", {**new_pin, "new_pin": card.pin}, "pin_unchanged"),
            ("set_card_limit", {"card": card.id, "monthly_limit": card.ceiling + 1}, "limit_too_high"),
            *(("change_card_pin", {**new_pin, "new_pin": easy}, "weak_pin") for easy in EASY_PINS),
            *(
                ("schedule_payment", {**payment, "on": (today + timedelta(days=ahead)).isoformat()}, code)
                for ahead, code in days
            ),
        ],
    )


def test_a_transfer_moves_money_and_writes_both_sides(bank: Session[Bank]) -> None:
    source, target = rich_pair(bank)
    out = do(bank, "transfer_money", source=source.id, target=target.id, amount=700, memo="rent")
    assert do(bank, "get_account", account=source.id)["balance"] == source.balance - 700
    assert do(bank, "get_account", account=target.id)["balance"] == target.balance + 700
    other = do(bank, "get_transaction", transaction=out["counterpart"])
    assert (other["account"], other["amount"], other["counterpart"]) == (target.id, 700, out["id"])


def test_a_transfer_stays_in_one_currency() -> None:
    session, dollars, euros = bank_with(currency="USD")
    assert refused(session, "transfer_money", source=dollars.id, target=euros.id, amount=1) == "currency_mismatch"


def test_a_frozen_account_takes_money_but_gives_none() -> None:
    session, frozen, giver = bank_with(status="frozen")
    do(session, "transfer_money", source=giver.id, target=frozen.id, amount=100)
    assert refused(session, "transfer_money", source=frozen.id, target=giver.id, amount=100) == "account_frozen"


def test_a_closed_account_neither_takes_nor_gives() -> None:
    session, closed, giver = bank_with(status="closed")
    assert refused(session, "transfer_money", source=giver.id, target=closed.id, amount=1) == "account_closed"
    payee = free_payee(session)
    assert refused(session, "pay_payee", source=closed.id, payee=payee.id, amount=1) == "account_closed"


def test_all_that_is_available_can_be_sent_and_not_a_cent_more() -> None:
    session, poor, _ = bank_with(overdraft=20_000)
    payee, available = free_payee(session), poor.balance + poor.overdraft
    assert refused(session, "pay_payee", source=poor.id, payee=payee.id, amount=available + 1) == "insufficient_funds"
    do(session, "pay_payee", source=poor.id, payee=payee.id, amount=available)
    assert refused(session, "pay_payee", source=poor.id, payee=payee.id, amount=1) == "insufficient_funds"


def test_the_daily_limit_counts_transfers_and_payments_of_today_and_is_new_tomorrow() -> None:
    richest = rich_pair(server.open(7, "small"))[0]
    session = world_with(server, lambda bank: bank.accounts.change(richest.id, daily_limit=richest.balance // 2))
    source, target = rich_pair(session)
    transfer = {"source": source.id, "target": target.id, "amount": source.daily_limit - 500}
    do(session, "transfer_money", **transfer)
    do(session, "pay_payee", source=source.id, payee=free_payee(session).id, amount=500)
    assert refused(session, "transfer_money", **{**transfer, "amount": 1}) == "daily_limit_exceeded"
    assert session.call("transfer_money", {**transfer, "amount": 1}, now=session.state.now + timedelta(days=1)).ok


def test_a_large_payment_needs_the_pin_of_an_active_card(bank: Session[Bank]) -> None:
    source, card = rich_pair(bank)[0], active_card(bank.state)
    large: dict[str, Any] = {"source": source.id, "payee": free_payee(bank).id, "amount": source.approval_limit + 1}
    wrong = next(pin for pin in ("0000", "1111", "2222", "3333") if not bank.state.approves(pin))
    assert refused(bank, "pay_payee", **large) == "pin_required"
    assert refused(bank, "pay_payee", **large, pin=wrong) == "wrong_pin"
    assert do(bank, "pay_payee", **large, pin=card.pin)["amount"] == -large["amount"]


def test_the_pin_of_a_frozen_card_approves_nothing(bank: Session[Bank]) -> None:
    source, payee = rich_pair(bank)[0], free_payee(bank)
    pin = active_card(bank.state).pin
    for card in [card for card in bank.state.cards if card.pin == pin and card.status == "active"]:
        do(bank, "freeze_card", card=card.id)
    large = source.approval_limit + 1
    assert refused(bank, "pay_payee", source=source.id, payee=payee.id, amount=large, pin=pin) == "wrong_pin"


def test_no_tool_tells_a_pin() -> None:
    assert [tool.name for tool in server.tools.values() if '"pin"' in str(tool.output_schema).replace("'", '"')] == []


def test_payees_are_found_by_any_part_of_the_name(bank: Session[Bank]) -> None:
    new = do(bank, "add_payee", name="Quartz Optics", iban=IBAN)
    assert do(bank, "find_payees", name="z oPt") == [new]


def test_a_scheduled_payment_goes_all_the_way_and_lets_its_payee_go(bank: Session[Bank]) -> None:
    source, day = rich_pair(bank)[0].id, (bank.state.now + timedelta(days=9)).date().isoformat()
    payee = do(bank, "add_payee", name="River Housing", iban=IBAN)["id"]
    payment = do(bank, "schedule_payment", source=source, payee=payee, amount=900, on=day)
    assert [row["id"] for row in do(bank, "list_scheduled_payments", payee=payee)] == [payment["id"]]
    assert refused(bank, "remove_payee", payee=payee) == "payee_in_use"
    do(bank, "cancel_scheduled_payment", payment=payment["id"])
    do(bank, "remove_payee", payee=payee)
    assert do(bank, "add_payee", name="River Housing", iban=IBAN)["id"] != payee


def test_scheduling_does_not_get_around_approval_nor_pay_twice(bank: Session[Bank]) -> None:
    source, payee = rich_pair(bank)[0], free_payee(bank)
    payment = {"source": source.id, "payee": payee.id, "on": (bank.state.now + timedelta(1)).date().isoformat()}
    assert refused(bank, "schedule_payment", **payment, amount=source.approval_limit + 1) == "over_approval_limit"
    do(bank, "schedule_payment", **payment, amount=source.approval_limit)
    assert refused(bank, "schedule_payment", **payment, amount=source.approval_limit) == "already_scheduled"


def test_a_card_is_frozen_and_unfrozen_and_then_pays_with_its_new_pin(bank: Session[Bank]) -> None:
    card, source = active_card(bank.state), rich_pair(bank)[0]
    do(bank, "freeze_card", card=card.id)
    assert refused(bank, "freeze_card", card=card.id) == "already_frozen"
    assert refused(bank, "change_card_pin", card=card.id, pin=card.pin, new_pin="2860") == "card_frozen"
    assert refused(bank, "set_card_limit", card=card.id, monthly_limit=10_000) == "card_frozen"
    do(bank, "unfreeze_card", card=card.id)
    assert refused(bank, "unfreeze_card", card=card.id) == "not_frozen"
    do(bank, "change_card_pin", card=card.id, pin=card.pin, new_pin="2860")
    large = source.approval_limit + 1
    do(bank, "pay_payee", source=source.id, payee=free_payee(bank).id, amount=large, pin="2860")


def test_a_card_limit_stays_under_its_ceiling(bank: Session[Bank]) -> None:
    card = active_card(bank.state)
    assert do(bank, "set_card_limit", card=card.id, monthly_limit=card.ceiling)["monthly_limit"] == card.ceiling


def test_an_expired_card_stays_as_it_is() -> None:
    session = world_with(server, lambda bank: bank.cards.change(active_card(bank).id, status="expired"))
    card = next(row for row in session.state.cards if row.status == "expired")
    for tool in ("freeze_card", "unfreeze_card"):
        assert refused(session, tool, card=card.id) == "card_expired"


def test_a_statement_is_newest_first_and_keeps_to_its_days() -> None:
    session = server.open(3, "default")
    account = max(session.state.accounts, key=lambda row: len(session.state.transactions.where(account=row.id)))
    rows = do(session, "list_transactions", account=account.id, limit=50)
    assert rows == sorted(rows, key=lambda row: row["at"], reverse=True)
    day = rows[2]["at"][:10]
    within = [row for row in rows if row["at"][:10] == day]
    assert do(session, "list_transactions", account=account.id, since=day, until=day) == within
    late, early = rows[0]["at"][:10], rows[-1]["at"][:10]
    assert refused(session, "list_transactions", account=account.id, since=late, until=early) == "empty_period"


@pytest.mark.parametrize("seed", [0, 1, 2, 1_000_000_000])
def test_every_world_lets_two_accounts_exchange_money_and_a_card_approve(seed: int) -> None:
    session = server.open(seed, "small")
    source, target = rich_pair(session)
    do(session, "transfer_money", source=source.id, target=target.id, amount=1)
    assert session.state.approves(active_card(session.state).pin)
