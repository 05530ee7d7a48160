"""Records, besides people and places, that several servers of a world share: invoices and flight bookings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple, NewType

from ..core.rng import Draw, derive_id
from .people import EmailAddress, cast, get_start_time
from .places import CITIES, City, town

InvoiceId = NewType("InvoiceId", str)
BookingCode = NewType("BookingCode", str)


class Invoice(NamedTuple):
    """What the user's firm has billed to somebody; amount in cents."""

    id: InvoiceId
    customer: EmailAddress
    subject: str
    amount: int
    issued: date
    due: date


class Booking(NamedTuple):
    """A flight the user has booked; prices in cents."""

    code: BookingCode
    origin: City
    destination: City
    day: date
    price: int


SUBJECTS = (
    "Consulting", "Design work", "Hosting", "Maintenance", "Photo shoot", "Repair", "Software licence", "Support plan",
    "Training", "Translation", "Website", "Workshop",
)  # fmt: skip


def ids(prefix: str, seed: int) -> Iterator[str]:
    taken: dict[str, None] = {}
    while True:
        id, _ = derive_id(prefix, 4, seed, f"shared/{len(taken)}", taken)
        taken[id] = None
        yield id


@lru_cache(maxsize=1024)
def invoices(seed: int, count: int = 12) -> tuple[Invoice, ...]:
    """Return the invoices of a world, in no particular order; a larger `count` begins with the same ones."""
    draw, today, people = Draw("invoices", seed), get_start_time(seed).date(), cast(seed, 40)[1:]
    found, names = list[Invoice](), ids("IVC", seed)
    for _ in range(count):
        issued = today - timedelta(days=draw.integer(1, 60))
        found.append(
            Invoice(
                id=InvoiceId(next(names)),
                customer=draw.choice(people[:9]).id,
                subject=draw.choice(SUBJECTS),
                amount=draw.integer(20, 900) * 100,
                issued=issued,
                due=issued + timedelta(days=draw.choice((14, 30, 30, 45))),
            )
        )
    return tuple(found)


@lru_cache(maxsize=1024)
def bookings(seed: int, count: int = 3) -> tuple[Booking, ...]:
    """Return the flights that the user has booked before the session, from the user's town, each on a future day."""
    draw, here, names = Draw("bookings", seed), town(seed), ids("BKG", seed)
    others = [city for city in CITIES if city != here]
    return tuple(
        Booking(
            code=BookingCode(next(names)),
            origin=here,
            destination=draw.choice(others),
            day=get_start_time(seed).date() + timedelta(days=draw.integer(3, 60)),
            price=draw.integer(60, 600) * 100,
        )
        for _ in range(count)
    )
