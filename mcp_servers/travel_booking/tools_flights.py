"""Tools that look at flights: search, details with fares, free seats."""

from __future__ import annotations

from operator import attrgetter

from ..kit import ToolError
from .fares import upgrade_miles
from .parameters import (
    ROWS,
    AskedCabin,
    AskedDay,
    AskedDestination,
    AskedOrigin,
    AskedPosition,
    FlightRef,
    Limit,
)
from .rules import city_named, require_open
from .seats import free_seats
from .server import server
from .state import CABINS, Flight, Travel
from .views_flights import FlightDetails, FlightStatus, FlightView, SeatView, fare_offers, flight_view, seat_view

MOST_ALTERNATIVES = 3


@server.read()
def search_flights(
    travel: Travel,
    origin: AskedOrigin = None,
    destination: AskedDestination = None,
    day: AskedDay = None,
    limit: Limit = None,
) -> tuple[FlightView, ...]:
    """Search coming flights between two cities, the next first."""
    wanted = {
        "origin": None if origin is None else city_named(origin),
        "destination": None if destination is None else city_named(destination),
        "day": day,
    }
    if day is not None and day < travel.now.date():
        raise ToolError("in_the_past", f"{day} is past; today is {travel.now.date()}. Name a day to come.")
    asked = {name: value for name, value in wanted.items() if value is not None}
    rows = [row for row in (travel.flights.where(**asked) if asked else travel.flights) if row.departs > travel.now]
    rows.sort(key=attrgetter("departs", "number"))
    return tuple([flight_view(row) for row in rows[: limit or ROWS]])


@server.read()
def get_flight(travel: Travel, flight: FlightRef) -> FlightDetails:
    """Get a flight with its fares in cents and alternatives."""
    row = travel.flights[flight]
    return FlightDetails(
        id=row.id,
        number=row.number,
        airline=row.airline,
        from_city=row.origin,
        to_city=row.destination,
        departs=row.departs,
        arrives=row.arrives,
        status=status_of(travel, row),
        miles=row.miles,
        upgrade_miles=upgrade_miles(row),
        fares=fare_offers(travel, row),
        alternatives=tuple([other.id for other in on_route(travel, row) if other.id != flight][:MOST_ALTERNATIVES]),
    )


def on_route(travel: Travel, flight: Flight) -> list[Flight]:
    """The coming flights between the same cities, the next first."""
    rows = travel.flights.where(route=flight.route)
    return sorted([row for row in rows if row.departs > travel.now], key=attrgetter("departs", "number"))


def status_of(travel: Travel, flight: Flight) -> FlightStatus:
    if travel.now < flight.departs:
        return "scheduled"
    return "in the air" if travel.now < flight.arrives else "landed"


@server.read()
def list_free_seats(
    travel: Travel,
    flight: FlightRef,
    cabin: AskedCabin = None,
    position: AskedPosition = None,
    limit: Limit = None,
) -> tuple[SeatView, ...]:
    """List the seats of a flight that are free, economy first, front to back."""
    row = travel.flights[flight]
    require_open(travel, row)
    found = [seat_view(seat) for one in CABINS if cabin in (None, one) for seat in free_seats(travel, row, one)]
    return tuple([seat for seat in found if position in (None, seat.position)][: limit or ROWS])
