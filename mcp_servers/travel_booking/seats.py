"""The seats of a flight: who has which, and how many are left in each cabin."""

from __future__ import annotations

from .state import Cabin, Flight, FlightBooking, Travel

LETTERS = "ACDF"
WINDOWS = "AF"
BUSINESS_ROWS = 2


def cabin_of(seat: str) -> Cabin:
    return "business" if int(seat[:-1]) <= BUSINESS_ROWS else "economy"


def seats_of(rows: int) -> list[str]:
    """All seats of an aircraft with so many rows, front to back."""
    return [f"{row}{letter}" for row in range(1, rows + 1) for letter in LETTERS]


def passengers(travel: Travel, flight: Flight) -> list[FlightBooking]:
    """The bookings on a flight that are not cancelled."""
    return [row for row in travel.bookings.where(flight=flight.id) if row.active]


def free_seats(travel: Travel, flight: Flight, cabin: Cabin) -> list[str]:
    """The seats of a cabin that nobody has, front to back."""
    taken = {*flight.sold, *(row.seat for row in passengers(travel, flight))}
    return [seat for seat in seats_of(flight.rows) if cabin_of(seat) == cabin and seat not in taken]


def places_left(travel: Travel, flight: Flight, cabin: Cabin) -> int:
    """How many more can be booked in a cabin: a booking takes a place even before it has a seat."""
    seats = [seat for seat in seats_of(flight.rows) if cabin_of(seat) == cabin]
    strangers = [seat for seat in flight.sold if cabin_of(seat) == cabin]
    return len(seats) - len(strangers) - sum(row.cabin == cabin for row in passengers(travel, flight))
