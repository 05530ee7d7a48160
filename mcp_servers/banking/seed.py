"""Initial state of the bank: accounts with a history, payees, scheduled payments, cards."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import COMPANIES, cast, get_start_time
from .state import (
    Account,
    AccountStatus,
    Bank,
    Card,
    CardStatus,
    Currency,
    Payee,
    ScheduledPayment,
    Transaction,
    TransactionKind,
)

# History of the accounts: every ledger line is planned before the accounts are created.

SHOPS = (
    "Bakery", "Bookshop", "Cinema", "Garage", "Grocer", "Hotel", "Market", "Metro", "Museum", "Pharmacy",
    "Restaurant", "Taxi",
)  # fmt: skip
INCOMES = ("Salary", "Refund", "Interest", "Bonus")
MEMOS = ("rent", "lesson", "tickets", "gift", "invoice", "repairs", "membership", "lunch")
OPENING = "Opening deposit"


class Plan(NamedTuple):
    """An account before its history is known; `goal` is the balance it should have today, in cents."""

    currency: Currency
    status: AccountStatus
    goal: int
    home: bool = False


class Line(NamedTuple):
    """A line of the ledger to be; `account` is a place in the list of plans, `other` that of the other side."""

    at: datetime
    account: int
    kind: TransactionKind
    amount: int
    party: str
    memo: str | None = None
    other: int | None = None


def plan_lines(
    draw: Draw, now: datetime, plans: list[Plan], kinds: list[str], names: list[str], count: int
) -> list[Line]:
    """Return the ledger, oldest line first; it brings every account to its goal or a little above."""
    home = next(place for place, plan in enumerate(plans) if plan.home)
    lines: list[Line] = []
    for place, plan in enumerate(plans):
        if plan.status == "closed":
            lines += draw_closed_account_lines(draw, now, place, home, kinds)
        else:
            parties = draw.shuffle_items([*SHOPS, *INCOMES, *names[:20]])
            past = [draw_line(draw, now, place, plan.goal, parties[i % len(parties)], names) for i in range(count)]
            opening = max(500, plan.goal - sum(line.amount for line in past))
            lines += [Line(draw_past_moment(draw, now, 100, 400), place, "deposit", opening, OPENING), *past]
    return sorted(lines, key=lambda line: line.at)


def draw_past_moment(draw: Draw, now: datetime, low: int, high: int) -> datetime:
    return now - timedelta(days=draw.integer(low, high), minutes=draw.integer(0, 500))


def draw_line(draw: Draw, now: datetime, place: int, goal: int, party: str, names: list[str]) -> Line:
    at = draw_past_moment(draw, now, 1, 80)
    if party in INCOMES and goal > 4_000:
        return Line(at, place, "deposit", draw.integer(500, 250_000), party)
    amount = -draw.integer(250, 18_000)
    if party in names:
        return Line(at, place, "payment", amount, party, draw.choice(MEMOS) if draw.chance(0.5) else None)
    return Line(at, place, "card", amount, draw.choice(SHOPS) if party in INCOMES else party)


def draw_closed_account_lines(draw: Draw, now: datetime, place: int, home: int, kinds: list[str]) -> list[Line]:
    """Return the ledger lines of a closed account: a deposit that was later transferred to the home account."""
    amount, opened, closed = (
        draw.integer(2_000, 90_000),
        draw_past_moment(draw, now, 100, 400),
        draw_past_moment(draw, now, 3, 60),
    )
    return [
        Line(opened, place, "deposit", amount, OPENING),
        Line(closed, place, "transfer", -amount, kinds[home], "account closed", home),
        Line(closed, home, "transfer", amount, kinds[place], "account closed", place),
    ]


Id = TypeVar("Id", bound=str)

ACCOUNT_KINDS = (
    "checking", "savings", "joint", "travel", "business", "student", "family", "holiday", "emergency", "household",
    "pension",
    "investment",
)  # fmt: skip
CARD_KINDS = ("debit", "credit", "virtual", "prepaid", "gold", "platinum", "silver", "premium")
COUNTRIES = ("AT", "BE", "DE", "ES", "FR", "IT", "NL", "PT")


class Size(NamedTuple):
    """How many rows a world has: `lines` of the ledger for each account besides the opening one."""

    accounts: int
    lines: int
    people: int
    companies: int
    scheduled: int
    cards: int


SIZES = {
    "small": Size(accounts=4, lines=2, people=3, companies=1, scheduled=3, cards=3),
    "default": Size(accounts=8, lines=8, people=36, companies=4, scheduled=20, cards=6),
    "large": Size(accounts=12, lines=100, people=146, companies=4, scheduled=100, cards=8),
}


def seed(seed: int, size: str) -> Bank:
    """Return the bank of a seed; sizes are small, default and large."""
    bank = Bank(seed, get_start_time(seed))
    draw, scale = Draw("banking", seed, size), SIZES[size]
    people = [person.name for person in cast(seed, scale.people + 1)[1:]]
    names = draw.shuffle_items([*people, *draw.sample(tuple(COMPANIES.values()), scale.companies)])
    kinds = draw.sample(ACCOUNT_KINDS, scale.accounts)
    plans = draw.shuffle_items(plan_accounts(draw, scale.accounts))
    lines = plan_lines(draw, bank.now, plans, kinds, names, scale.lines)
    put_accounts(bank, draw, plans, kinds, lines)
    put_lines(bank, lines)
    for name in names:
        iban = draw_iban(draw)
        bank.payees.put(Payee(id=derive_row_id(bank.payees, iban), name=name, iban=iban))
    put_scheduled(bank, draw, scale.scheduled)
    put_cards(bank, draw, scale.cards)
    return bank


def draw_iban(draw: Draw) -> str:
    return f"{draw.choice(COUNTRIES)}{draw.integer(0, 10**8 - 1):08d}"


def plan_accounts(draw: Draw, count: int) -> list[Plan]:
    """Return two open accounts in one currency, and others that may be low, foreign, frozen or closed."""
    base: tuple[Currency, Currency] = ("EUR", "USD") if draw.chance(0.6) else ("USD", "EUR")
    plans = [Plan(base[0], "open", draw.integer(60_000, 900_000), place == 0) for place in range(2)]
    while len(plans) < count:
        status: AccountStatus = draw.choose_weighted(("open", "frozen", "closed"), (0.7, 0.2, 0.1))
        currency = base[0] if status == "closed" or draw.chance(0.7) else base[1]
        goal = draw.integer(300, 4_000) if draw.chance(0.3) else draw.integer(30_000, 500_000)
        plans.append(Plan(currency, status, 0 if status == "closed" else goal))
    return plans


def put_accounts(bank: Bank, draw: Draw, plans: list[Plan], kinds: list[str], lines: list[Line]) -> None:
    approval, balances = draw.choice((30_000, 50_000, 75_000, 100_000)), [0] * len(plans)
    for line in lines:
        balances[line.account] += line.amount
    for plan, kind, balance in zip(plans, kinds, balances, strict=True):
        bank.accounts.put(
            Account(
                id=derive_row_id(bank.accounts, kind),
                kind=kind,
                balance=balance,
                currency=plan.currency,
                status=plan.status,
                iban=draw_iban(draw),
                overdraft=draw.choice((0, 0, 20_000, 50_000)) if plan.status == "open" else 0,
                daily_limit=draw.choice((150_000, 200_000, 300_000, 500_000)),
                approval_limit=approval,
            )
        )


def put_lines(bank: Bank, lines: list[Line]) -> None:
    accounts = [account.id for account in bank.accounts]
    sides: dict[int | None, Transaction] = {}
    for number, line in enumerate(lines):
        other = sides.get(line.other) if line.other is not None and line.amount > 0 else None
        row = bank.transactions.put(
            Transaction.from_row(
                line,
                id=derive_row_id(bank.transactions, str(number)),
                account=accounts[line.account],
                counterpart=other.id if other else None,
            )
        )
        if other:
            bank.transactions.change(other.id, counterpart=row.id)
        elif line.kind == "transfer":
            sides[line.account] = row


def put_scheduled(bank: Bank, draw: Draw, count: int) -> None:
    today = bank.now.date()
    sources = [account for account in bank.accounts if account.status == "open"]
    payees = draw.sample(list(bank.payees), count)
    for number, payee in enumerate(payees):
        source = draw.choice(sources)
        bank.scheduled.put(
            ScheduledPayment(
                id=derive_row_id(bank.scheduled, str(number)),
                source=source.id,
                payee=payee.id,
                name=payee.name,
                amount=draw.integer(500, source.approval_limit),
                currency=source.currency,
                on=today + timedelta(days=draw.integer(1, 60)),
                created=today - timedelta(days=draw.integer(0, 30)),
                memo=draw.choice(MEMOS) if draw.chance(0.4) else None,
            )
        )


def put_cards(bank: Bank, draw: Draw, count: int) -> None:
    """Add cards, at least one of them active, so that large payments can be approved."""
    accounts = [account.id for account in bank.accounts if account.status != "closed"]
    statuses: list[CardStatus] = ["active"]
    for _ in range(count - 1):
        statuses.append(draw.choose_weighted(("active", "frozen", "expired"), (0.55, 0.35, 0.1)))
    for kind, status in zip(draw.sample(CARD_KINDS, count), draw.shuffle_items(statuses), strict=True):
        ceiling = draw.choice((200_000, 300_000, 400_000, 500_000))
        bank.cards.put(
            Card(
                id=derive_row_id(bank.cards, kind),
                kind=kind,
                account=draw.choice(accounts),
                status=status,
                monthly_limit=draw.integer(5, ceiling // 5_000) * 5_000,
                ceiling=ceiling,
                pin=f"{draw.integer(0, 9_999):04d}",
            )
        )
