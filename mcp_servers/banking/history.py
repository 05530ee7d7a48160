"""The past of the accounts: every line of the ledger, planned before the accounts are there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from ..kit import Draw
from .state import AccountStatus, Currency, TransactionKind

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
    """The ledger, oldest line first: it brings every account to its goal, or a little above."""
    home = next(place for place, plan in enumerate(plans) if plan.home)
    lines: list[Line] = []
    for place, plan in enumerate(plans):
        if plan.status == "closed":
            lines += closing(draw, now, place, home, kinds)
        else:
            parties = draw.shuffled([*SHOPS, *INCOMES, *names[:20]])
            past = [draw_line(draw, now, place, plan.goal, parties[i % len(parties)], names) for i in range(count)]
            opening = max(500, plan.goal - sum(line.amount for line in past))
            lines += [Line(before(draw, now, 100, 400), place, "deposit", opening, OPENING), *past]
    return sorted(lines, key=lambda line: line.at)


def before(draw: Draw, now: datetime, low: int, high: int) -> datetime:
    return now - timedelta(days=draw.integer(low, high), minutes=draw.integer(0, 500))


def draw_line(draw: Draw, now: datetime, place: int, goal: int, party: str, names: list[str]) -> Line:
    at = before(draw, now, 1, 80)
    if party in INCOMES and goal > 4_000:
        return Line(at, place, "deposit", draw.integer(500, 250_000), party)
    amount = -draw.integer(250, 18_000)
    if party in names:
        return Line(at, place, "payment", amount, party, draw.choice(MEMOS) if draw.chance(0.5) else None)
    return Line(at, place, "card", amount, draw.choice(SHOPS) if party in INCOMES else party)


def closing(draw: Draw, now: datetime, place: int, home: int, kinds: list[str]) -> list[Line]:
    """A closed account's history: all it had went home."""
    amount, opened, closed = draw.integer(2_000, 90_000), before(draw, now, 100, 400), before(draw, now, 3, 60)
    return [
        Line(opened, place, "deposit", amount, OPENING),
        Line(closed, place, "transfer", -amount, kinds[home], "account closed", home),
        Line(closed, home, "transfer", amount, kinds[place], "account closed", place),
    ]
