"""Result types and serializers for hotels, flights, travellers and bookings."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from ..core import Day, Entity, Minute
from ..shared.people import EmailAddress
from ..shared.places import PlaceId
from ..shared.records import BookingCode
from .engine import FARES, WINDOWS, cabin_for, cabin_of, places_left, price_of
from .state import (
    CABINS,
    BookingStatus,
    Cabin,
    Fare,
    Flight,
    FlightBooking,
    FlightId,
    Hotel,
    HotelId,
    HotelRoomId,
    HotelStay,
    HotelStayId,
    MilesReason,
    StayStatus,
    Travel,
    Traveller,
)

# Results about hotels: prices, free rooms, stays.


class HotelView(Entity):
    """A hotel in a list; `price_from` is that of its cheapest room for a night, in cents."""

    __label__ = "the hotel {name}"
    id: HotelId
    name: str
    city: str
    stars: int
    price_from: int
    free_days: int
    place: PlaceId | None


class RoomOffer(Entity):
    """A kind of room that is free on all nights asked for; prices in cents."""

    __label__ = "the {kind} room of {hotel_name}"
    id: HotelRoomId
    kind: str
    hotel_name: str
    sleeps: int
    left: int
    night_price: int
    total: int


class StayView(Entity):
    """A hotel stay; amounts in cents."""

    __label__ = "the stay of {name} at {hotel_name}"
    id: HotelStayId
    traveller: EmailAddress
    name: str
    room: HotelRoomId
    hotel_name: str
    city: str
    kind: str
    arrival: Day
    nights: int
    guests: int
    status: StayStatus
    total: int
    refunded: int


def hotel_view(travel: Travel, hotel: Hotel) -> HotelView:
    return HotelView.from_row(hotel, price_from=min(room.price for room in travel.rooms.where(hotel=hotel.id)))


def stay_view(travel: Travel, row: HotelStay) -> StayView:
    hotel = travel.hotel_of(row)
    return StayView.from_row(
        row,
        name=travel.travellers[row.traveller].name,
        hotel_name=hotel.name,
        city=hotel.city,
        kind=travel.rooms[row.room].kind,
        total=row.price,
    )


# Results about flights: times, fares with places left, free seats.

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
    return FlightView.from_row(flight, from_city=flight.origin, to_city=flight.destination)


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
    return BookingView.from_row(
        row,
        name=travel.travellers[row.traveller].name,
        number=flight.number,
        from_city=flight.origin,
        to_city=flight.destination,
        departs=flight.departs,
    )


def booking_details(travel: Travel, row: FlightBooking) -> BookingDetails:
    flight = travel.flight_of(row)
    return BookingDetails.from_row(
        row,
        name=travel.travellers[row.traveller].name,
        number=flight.number,
        from_city=flight.origin,
        to_city=flight.destination,
        departs=flight.departs,
        arrives=flight.arrives,
    )


def traveller_view(row: Traveller) -> TravellerView:
    return TravellerView.from_row(row)
