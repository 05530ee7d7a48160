"""When each listing of a new world began and ends, before the listings are there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from ..kit import Draw
from .state import Format

Role = Literal["offered", "own", "bought", "sold", "gone", "lapsed"]


class Size(NamedTuple):
    """How many listings a world has: of others, the user's own, what the user bought and sold, and what is over."""

    fixed: int
    auctions: int
    own_fixed: int
    own_auctions: int
    bought: int
    sold: int
    gone: int
    lapsed: int
    watched: int
    people: int


SIZES = {
    "small": Size(10, 4, 2, 2, 2, 2, 1, 1, 2, 25),
    "default": Size(120, 60, 3, 2, 8, 10, 36, 10, 8, 39),
    "large": Size(800, 420, 4, 2, 24, 40, 300, 60, 12, 120),
}


class Plan(NamedTuple):
    """A listing to be; `at` is when it was sold, `number` tells apart those of one role and format."""

    listed: datetime
    role: Role
    number: int
    format: Format
    ends: datetime
    at: datetime | None = None


def plan_listings(draw: Draw, now: datetime, size: Size) -> list[Plan]:
    """All listings of a world, the oldest first."""
    roles: list[tuple[Role, Format, int]] = [
        ("offered", "fixed price", size.fixed),
        ("offered", "auction", size.auctions),
        ("own", "fixed price", size.own_fixed),
        ("own", "auction", size.own_auctions),
    ]
    plans = [plan_open(draw, now, role, number, format) for role, format, count in roles for number in range(count)]
    past: list[tuple[Role, int]] = [("bought", size.bought), ("sold", size.sold), ("gone", size.gone)]
    plans += [plan_sold(draw, now, role, number) for role, count in past for number in range(count)]
    for number in range(size.lapsed):
        ends = before(draw, now, 0, 40)
        plans.append(Plan(ends - timedelta(days=30), "lapsed", number, "fixed price", ends))
    return sorted(plans)


def plan_open(draw: Draw, now: datetime, role: Role, number: int, format: Format) -> Plan:
    if format == "auction":
        ends = now + timedelta(minutes=draw.integer(120, 6 * 24 * 60))
        return Plan(ends - timedelta(days=draw.choice((7, 10))), role, number, format, ends)
    listed = before(draw, now, 3, 18)
    return Plan(listed, role, number, format, listed + timedelta(days=30))


def plan_sold(draw: Draw, now: datetime, role: Role, number: int) -> Plan:
    """A sale of the past: the first one a week ago or two, the second yesterday."""
    low, high = {0: (6, 14), 1: (0, 1)}.get(number, (2, 80))
    at = before(draw, now, low, high)
    if draw.chance(0.4):
        return Plan(at - timedelta(days=7), role, number, "auction", at, at)
    listed = before(draw, at, 2, 20)
    return Plan(listed, role, number, "fixed price", listed + timedelta(days=30), at)


def before(draw: Draw, now: datetime, low: int, high: int) -> datetime:
    """A moment so many whole days ago and some minutes more."""
    return now - timedelta(days=draw.integer(low, high), minutes=draw.integer(20, 600))
