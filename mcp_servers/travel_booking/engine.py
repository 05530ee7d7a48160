"""Fares, seats, hotel rooms, the ledgers of money and miles, and the checks that raise the travel agency's errors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from ..core import ToolError, minute_text
from ..shared.people import EmailAddress
from ..shared.places import CITIES
from ..shared.records import BookingCode
from .state import (
    ONE_DAY,
    Cabin,
    Fare,
    Flight,
    FlightBooking,
    HotelRoom,
    HotelRoomId,
    HotelStay,
    HotelStayId,
    MilesEntry,
    MilesReason,
    PaymentReason,
    Travel,
    Traveller,
    TravelPayment,
    nights_from,
)

# What each fare costs and allows; windows in hours before departure, fees in cents.


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
    """Return the price of a fare on this flight, in cents."""
    return flight.price * FARES[fare].price // 100


def cabin_for(fare: Fare) -> Cabin:
    return "business" if fare == "business" else "economy"


def refund_of(booking: FlightBooking) -> int:
    """Return the refund for a cancellation of the booking, in cents."""
    return booking.total * FARES[booking.fare].refund // 100


def miles_for(flight: Flight, fare: Fare) -> int:
    """Return the miles that a traveller is credited at check-in."""
    return flight.miles * FARES[fare].earns // 100


def upgrade_miles(flight: Flight) -> int:
    """Return the miles that an upgrade to business costs."""
    return 3_000 + 2 * flight.miles


# The seats of a flight: who has which, and how many are left in each cabin.

LETTERS = "ACDF"
WINDOWS = "AF"
BUSINESS_ROWS = 2


def cabin_of(seat: str) -> Cabin:
    return "business" if int(seat[:-1]) <= BUSINESS_ROWS else "economy"


@lru_cache(maxsize=16)
def seats_of(rows: int) -> tuple[str, ...]:
    """Return all seats of an aircraft with this number of rows, front to back."""
    return tuple(f"{row}{letter}" for row in range(1, rows + 1) for letter in LETTERS)


def passengers(travel: Travel, flight: Flight) -> list[FlightBooking]:
    """Return the bookings on a flight that are not cancelled."""
    return [row for row in travel.bookings.where(flight=flight.id) if row.active]


@lru_cache(maxsize=1 << 14)
def unsold(rows: int, sold: tuple[str, ...], cabin: Cabin) -> tuple[str, ...]:
    """Return the seats of a cabin that no stranger has, front to back."""
    return tuple(seat for seat in seats_of(rows) if cabin_of(seat) == cabin and seat not in sold)


def free_seats(travel: Travel, flight: Flight, cabin: Cabin) -> list[str]:
    """Return the seats of a cabin that nobody has, front to back."""
    taken = [row.seat for row in passengers(travel, flight)]
    return [seat for seat in unsold(flight.rows, flight.sold, cabin) if seat not in taken]


def places_left(travel: Travel, flight: Flight, cabin: Cabin) -> int:
    """Return how many more bookings a cabin can take; a booking takes a place even before it has a seat."""
    booked = [row for row in passengers(travel, flight) if row.cabin == cabin]
    return len(unsold(flight.rows, flight.sold, cabin)) - len(booked)


# Payments and miles: each movement is an entry in its ledger.


def pay(
    travel: Travel,
    amount: int,
    reason: PaymentReason,
    booking: BookingCode | None = None,
    stay: HotelStayId | None = None,
) -> None:
    """Charge the user these cents, or refund them if negative; an amount of zero adds no payment."""
    if amount:
        id = travel.payments.new_id()
        travel.payments.put(
            TravelPayment(id=id, at=travel.now, amount=amount, reason=reason, booking=booking, stay=stay)
        )


def add_miles(
    travel: Travel, traveller: EmailAddress, miles: int, reason: MilesReason, booking: BookingCode | None
) -> None:
    """Credit a traveller with miles, or deduct them if negative."""
    travel.travellers.change(traveller, miles=travel.travellers[traveller].miles + miles)
    travel.miles.put(
        MilesEntry(
            id=travel.miles.new_id(),
            traveller=traveller,
            at=travel.now,
            miles=miles,
            reason=reason,
            booking=booking,
        )
    )


# Availability of rooms, and checks that raise errors for stays.

FURTHEST = timedelta(days=365)


def count_strangers_rooms(seed: int, room: HotelRoom, night: date) -> int:
    """Return how many rooms of this kind strangers have on a night, from none to all; every call returns the same."""
    return demand(seed, room.id, night) * (room.count + 1) // 256


@lru_cache(maxsize=1 << 16)
def demand(seed: int, room: HotelRoomId, night: date) -> int:
    """Return the demand of strangers for a kind of room on a night, from 0 to 255."""
    return min(blake2b(f"{seed}/{room}/{night.isoformat()}".encode(), digest_size=2).digest())


def rooms_left(travel: Travel, room: HotelRoom, night: date, besides: HotelStayId | None = None) -> int:
    """Return how many rooms of this kind are free on a night; the stay `besides` does not count."""
    stays = travel.stays.where(room=room.id)
    own = [row for row in stays if row.arrival <= night <= row.last and row.active and row.id != besides]
    return room.count - count_strangers_rooms(travel.seed, room, night) - len(own)


def fewest_left(travel: Travel, room: HotelRoom, arrival: date, nights: int) -> int:
    return min([rooms_left(travel, room, night) for night in nights_from(arrival, nights)])


def require_ahead(travel: Travel, arrival: date) -> None:
    """Raise ToolError if this night is past or further ahead than rooms are sold."""
    today = travel.now.date()
    if arrival < today:
        raise ToolError("in_the_past", f"{arrival} is past; today is {today}. Name a day to come.")
    if arrival > today + FURTHEST:
        raise ToolError("too_far_ahead", f"Rooms are sold until {today + FURTHEST}; name an earlier day.")


def require_room(
    travel: Travel, room: HotelRoomId, arrival: date, nights: int, besides: HotelStayId | None = None
) -> None:
    """Raise ToolError if the room is sold out on one of the nights."""
    row = travel.rooms[room]
    for night in nights_from(arrival, nights):
        if rooms_left(travel, row, night, besides) < 1:
            raise ToolError(
                "room_not_available", f"No {row.kind} room is left on {night}; choose other nights or another room."
            )


def require_not_elsewhere(
    travel: Travel, traveller: EmailAddress, nights: Sequence[date], besides: HotelStayId | None = None
) -> None:
    """Raise ToolError if the traveller has another stay on one of these nights."""
    for row in travel.stays.where(traveller=traveller):
        if row.active and row.id != besides and row.arrival <= nights[-1] and nights[0] <= row.last:
            raise ToolError(
                "overlapping_stay",
                f"{row.id} has the traveller at {travel.hotel_of(row).name} from {row.arrival} for {row.nights} "
                "nights; choose other nights, or change or cancel that stay.",
            )


def coming_stay(travel: Travel, id: HotelStayId) -> HotelStay:
    """Return the stay if it is still to come; raise ToolError if it is cancelled or has begun."""
    row = travel.stays[id]
    if not row.active:
        raise ToolError("stay_cancelled", f"{id} is cancelled; book the room again.")
    if row.arrival <= travel.now.date():
        raise ToolError("stay_begun", f"{id} began on {row.arrival}; only the hotel can change it now.")
    return row


def free_of_charge(travel: Travel, stay: HotelStay) -> bool:
    """Return whether a stay can still be changed or cancelled free of charge."""
    return travel.now.date() <= stay.arrival - travel.hotel_of(stay).free_days * ONE_DAY


# Checks that raise errors for flights: departed, closed, full, cancelled, too late, no passport, overlapping.

COUNTRIES = {city.name: city.country for city in CITIES}
CITY_NAMES = {text.casefold(): city.name for city in CITIES for text in (city.name, city.airport)}


def city_named(text: str) -> str:
    """Return the city with this name or airport code; raise ToolError if there is none."""
    name = CITY_NAMES.get(text.strip().casefold())
    if name is None:
        raise ToolError("unknown_city", f"No airport is known for {text}; name a city or its three-letter code.")
    return name


def require_not_departed(travel: Travel, flight: Flight) -> None:
    if flight.departs <= travel.now:
        raise ToolError(
            "flight_departed", f"{flight.number} left at {minute_text(flight.departs)}; choose a later flight."
        )


def require_open(travel: Travel, flight: Flight) -> None:
    """Raise ToolError if a flight has departed or sales for it are closed."""
    require_not_departed(travel, flight)
    if flight.departs - timedelta(hours=CLOSES) <= travel.now:
        raise ToolError(
            "booking_closed", f"Sales for {flight.number} closed {CLOSES} hour before departure; choose a later flight."
        )


def require_place(travel: Travel, flight: Flight, cabin: Cabin) -> None:
    if places_left(travel, flight, cabin) < 1:
        raise ToolError("flight_full", f"{flight.number} has no place left in {cabin}; choose another flight or cabin.")


def require_passport(traveller: Traveller, flight: Flight) -> None:
    """Raise ToolError if the flight crosses a border and the traveller has no passport valid on its day."""
    if COUNTRIES[flight.origin] != COUNTRIES[flight.destination]:
        require_valid_passport(traveller, flight.departs.date())


def require_valid_passport(traveller: Traveller, day: date) -> None:
    if traveller.passport is None or traveller.passport_expires is None:
        raise ToolError("passport_missing", f"{traveller.name} has no passport on file; enter one with renew_passport.")
    if traveller.passport_expires < day:
        raise ToolError(
            "passport_expired",
            f"The passport of {traveller.name} is valid until {traveller.passport_expires}, not on {day}; renew it.",
        )


def require_time(travel: Travel, traveller: Traveller, flight: Flight, besides: BookingCode | None = None) -> None:
    """Raise ToolError if another booking of the traveller is on this flight or overlaps it in time."""
    for row in travel.bookings.where(traveller=traveller.id):
        if not row.active or row.id == besides:
            continue
        other = travel.flight_of(row)
        if other.id == flight.id:
            raise ToolError("already_booked", f"{row.id} already has {traveller.name} on {flight.number}; use it.")
        if overlap(flight, other):
            raise ToolError(
                "flights_overlap",
                f"{row.id} has {traveller.name} on {other.number} from {minute_text(other.departs)} to "
                f"{minute_text(other.arrives)}; choose a flight at another time.",
            )


def overlap(one: Flight, other: Flight) -> bool:
    """Return whether two flights overlap in time, so that nobody can take both."""
    return one.departs < other.arrives and other.departs < one.arrives


def active_booking(travel: Travel, id: BookingCode) -> tuple[FlightBooking, Flight]:
    """Return the booking and its flight; raise ToolError if it is cancelled or the flight has departed."""
    booking = travel.bookings[id]
    if not booking.active:
        raise ToolError("booking_cancelled", f"{id} is cancelled; book the flight again.")
    flight = travel.flight_of(booking)
    require_not_departed(travel, flight)
    return booking, flight


def changeable_booking(travel: Travel, id: BookingCode) -> tuple[FlightBooking, Flight]:
    """Return the same as `active_booking`; also raise ToolError if the traveller is checked in."""
    booking, flight = active_booking(travel, id)
    if booking.status == "checked_in":
        raise ToolError("already_checked_in", f"{id} is checked in; only staff at the airport can change it now.")
    return booking, flight


def window_passed(travel: Travel, booking: FlightBooking, flight: Flight) -> bool:
    """Return whether it is too late to change or cancel the booking under the rules of its fare."""
    return travel.now > flight.departs - timedelta(hours=FARES[booking.fare].window)
