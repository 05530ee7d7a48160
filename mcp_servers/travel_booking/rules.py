"""When the agency refuses a flight: departed, closed, full, cancelled, too late, without a passport, in two places."""

from __future__ import annotations

from datetime import date, timedelta

from ..kit import ToolError, minute_text
from ..places import CITIES
from ..shared_records import BookingCode
from .fares import CLOSES, FARES
from .seats import places_left
from .state import Cabin, Flight, FlightBooking, Travel, Traveller

COUNTRIES = {city.name: city.country for city in CITIES}
CITY_NAMES = {text.casefold(): city.name for city in CITIES for text in (city.name, city.airport)}


def city_named(text: str) -> str:
    """The city of this name or airport code. Raises ToolError when there is none."""
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
    """Raises ToolError when a flight has left or is about to."""
    require_not_departed(travel, flight)
    if flight.departs - timedelta(hours=CLOSES) <= travel.now:
        raise ToolError(
            "booking_closed", f"Sales for {flight.number} closed {CLOSES} hour before departure; choose a later flight."
        )


def require_place(travel: Travel, flight: Flight, cabin: Cabin) -> None:
    if places_left(travel, flight, cabin) < 1:
        raise ToolError("flight_full", f"{flight.number} has no place left in {cabin}; choose another flight or cabin.")


def require_passport(traveller: Traveller, flight: Flight) -> None:
    """Raises ToolError unless the traveller may cross the border, if the flight crosses one."""
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
    """Raises ToolError when another booking has the traveller in the air at the time of this flight."""
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
    """Whether nobody can take both flights."""
    return one.departs < other.arrives and other.departs < one.arrives


def active_booking(travel: Travel, id: BookingCode) -> tuple[FlightBooking, Flight]:
    """The booking and its flight, which is still to come. Raises ToolError when it is cancelled or has left."""
    booking = travel.bookings[id]
    if not booking.active:
        raise ToolError("booking_cancelled", f"{id} is cancelled; book the flight again.")
    flight = travel.flight_of(booking)
    require_not_departed(travel, flight)
    return booking, flight


def changeable_booking(travel: Travel, id: BookingCode) -> tuple[FlightBooking, Flight]:
    """The same, while its traveller is not checked in."""
    booking, flight = active_booking(travel, id)
    if booking.status == "checked_in":
        raise ToolError("already_checked_in", f"{id} is checked in; only staff at the airport can change it now.")
    return booking, flight


def window_passed(travel: Travel, booking: FlightBooking, flight: Flight) -> bool:
    """Whether it is too late to change or cancel under the rules of the fare."""
    return travel.now > flight.departs - timedelta(hours=FARES[booking.fare].window)
