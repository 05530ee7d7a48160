"""What the tools show of flights: times, fares with places left, free seats."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from ..kit import Entity, Minute
from .fares import FARES, cabin_for, price_of
from .seats import WINDOWS, cabin_of, places_left
from .state import CABINS, Cabin, Fare, Flight, FlightId, Travel

FlightStatus = Literal["scheduled", "in the air", "landed"]


class FlightView(Entity):
    """A flight in a list; `price` is the light fare in cents."""

    __label__ = "flight {number}"
    id: FlightId
    number: str
    from_city: str
    to_city: str
    departs: Minute
    arrives: Minute
    price: int


class FareOffer(Entity):
    """What a fare costs on a flight and allows; without a `change_fee` it cannot be changed."""

    fare: Fare
    price: int
    places_left: int
    bags: int
    change_fee: int | None
    refund_percent: int
    window_hours: int


class FlightDetails(Entity):
    """A flight with its fares, in cents, and the next flights on the same route."""

    __label__ = "flight {number}"
    id: FlightId
    number: str
    airline: str
    from_city: str
    to_city: str
    departs: Minute
    arrives: Minute
    status: FlightStatus
    miles: int
    upgrade_miles: int
    fares: tuple[FareOffer, ...]
    alternatives: tuple[FlightId, ...]


class SeatView(Entity):
    """A free seat."""

    seat_number: str
    cabin: Cabin
    position: Literal["window", "aisle"]


def flight_view(flight: Flight) -> FlightView:
    return FlightView(
        id=flight.id,
        number=flight.number,
        from_city=flight.origin,
        to_city=flight.destination,
        departs=flight.departs,
        arrives=flight.arrives,
        price=flight.price,
    )


def fare_offers(travel: Travel, flight: Flight) -> tuple[FareOffer, ...]:
    left = {cabin: places_left(travel, flight, cabin) for cabin in CABINS}
    return tuple(
        [
            FareOffer(
                fare=fare,
                price=price_of(flight, fare),
                places_left=left[cabin_for(fare)],
                bags=rule.bags,
                change_fee=rule.change_fee,
                refund_percent=rule.refund,
                window_hours=rule.window,
            )
            for fare, rule in FARES.items()
        ]
    )


@lru_cache(maxsize=128)
def seat_view(seat: str) -> SeatView:
    return SeatView(seat_number=seat, cabin=cabin_of(seat), position="window" if seat[-1] in WINDOWS else "aisle")
