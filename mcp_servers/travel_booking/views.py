"""What the tools show of travellers and of what is booked for them."""

from __future__ import annotations

from ..kit import Day, Entity, Minute
from ..people import EmailAddress
from ..shared_records import BookingCode
from .state import BookingStatus, Cabin, Fare, FlightBooking, FlightId, MilesReason, Travel, Traveller
from .views_stays import StayView


class BookingView(Entity):
    """A flight booking in a list; `total` in cents."""

    __label__ = "the booking of {name} on flight {number}"
    id: BookingCode
    name: str
    flight: FlightId
    number: str
    from_city: str
    to_city: str
    departs: Minute
    status: BookingStatus
    total: int


class BookingDetails(Entity):
    """A flight booking; amounts in cents."""

    __label__ = "the booking of {name} on flight {number}"
    id: BookingCode
    traveller: EmailAddress
    name: str
    flight: FlightId
    number: str
    from_city: str
    to_city: str
    departs: Minute
    arrives: Minute
    status: BookingStatus
    fare: Fare
    cabin: Cabin
    seat: str | None
    bags: int
    total: int
    refunded: int


class TravellerView(Entity):
    """A traveller, without the passport's number."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    passport_expires: Day | None
    miles: int


class MilesLine(Entity):
    """A line of a traveller's miles."""

    at: Minute
    miles: int
    reason: MilesReason
    booking: BookingCode | None


class MilesAccount(Entity):
    """A traveller's miles, with the latest movements first."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    miles: int
    entries: tuple[MilesLine, ...]


class Itinerary(Entity):
    """What is booked, the next first; `total` is what all of it costs in cents, also of what is not listed."""

    flights: tuple[BookingView, ...]
    stays: tuple[StayView, ...]
    total: int


def booking_view(travel: Travel, row: FlightBooking) -> BookingView:
    flight = travel.flight_of(row)
    return BookingView(
        id=row.id,
        name=travel.travellers[row.traveller].name,
        flight=row.flight,
        number=flight.number,
        from_city=flight.origin,
        to_city=flight.destination,
        departs=flight.departs,
        status=row.status,
        total=row.total,
    )


def booking_details(travel: Travel, row: FlightBooking) -> BookingDetails:
    flight = travel.flight_of(row)
    return BookingDetails(
        id=row.id,
        traveller=row.traveller,
        name=travel.travellers[row.traveller].name,
        flight=row.flight,
        number=flight.number,
        from_city=flight.origin,
        to_city=flight.destination,
        departs=flight.departs,
        arrives=flight.arrives,
        status=row.status,
        fare=row.fare,
        cabin=row.cabin,
        seat=row.seat,
        bags=row.bags,
        total=row.total,
        refunded=row.refunded,
    )


def traveller_view(row: Traveller) -> TravellerView:
    return TravellerView(id=row.id, name=row.name, passport_expires=row.passport_expires, miles=row.miles)
