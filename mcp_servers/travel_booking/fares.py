"""What each fare costs and allows; windows in hours before departure, fees in cents."""

from __future__ import annotations

from typing import NamedTuple

from .state import Cabin, Fare, Flight, FlightBooking


class FareRule(NamedTuple):
    """`price`, `refund` and `earns` are percentages: of the light fare, of what was paid, of the miles flown.

    A fare without a `change_fee` cannot be changed.
    """

    price: int
    bags: int
    change_fee: int | None
    refund: int
    window: int
    earns: int


FARES: dict[Fare, FareRule] = {
    "light": FareRule(price=100, bags=0, change_fee=None, refund=0, window=24, earns=50),
    "standard": FareRule(price=125, bags=1, change_fee=5_000, refund=50, window=24, earns=100),
    "flex": FareRule(price=200, bags=1, change_fee=0, refund=90, window=2, earns=125),
    "business": FareRule(price=400, bags=2, change_fee=0, refund=100, window=2, earns=200),
}
BAG_FEE = 3_500
MOST_BAGS = 4
CHECK_IN_OPENS = 24
CLOSES = 1


def price_of(flight: Flight, fare: Fare) -> int:
    """The fare on this flight in cents."""
    return flight.price * FARES[fare].price // 100


def cabin_for(fare: Fare) -> Cabin:
    return "business" if fare == "business" else "economy"


def refund_of(booking: FlightBooking) -> int:
    """What comes back when the booking is cancelled, in cents."""
    return booking.total * FARES[booking.fare].refund // 100


def miles_for(flight: Flight, fare: Fare) -> int:
    """The miles a traveller is credited at check-in."""
    return flight.miles * FARES[fare].earns // 100


def upgrade_miles(flight: Flight) -> int:
    """The miles an upgrade to business costs."""
    return 3_000 + 2 * flight.miles
