"""The seats of a flight: who has which, and how many are left in each cabin."""

from __future__ import annotations

from functools import lru_cache

from .state import Cabin, Flight, FlightBooking, Travel

LETTERS = "ACDF"
WINDOWS = "AF"
BUSINESS_ROWS = 2


def cabin_of(seat: str) -> Cabin:
    return "business" if int(seat[:-1]) <= BUSINESS_ROWS else "economy"


@lru_cache(maxsize=16)
def seats_of(rows: int) -> tuple[str, ...]:
    """All seats of an aircraft with so many rows, front to back."""
    return tuple(f"{row}{letter}" for row in range(1, rows + 1) for letter in LETTERS)


def passengers(travel: Travel, flight: Flight) -> list[FlightBooking]:
    """The bookings on a flight that are not cancelled."""
    return [row for row in travel.bookings.where(flight=flight.id) if row.active]


@lru_cache(maxsize=1 << 14)
def unsold(rows: int, sold: tuple[str, ...], cabin: Cabin) -> tuple[str, ...]:
    """The seats of a cabin that no stranger has, front to back."""
    return tuple(seat for seat in seats_of(rows) if cabin_of(seat) == cabin and seat not in sold)


def free_seats(travel: Travel, flight: Flight, cabin: Cabin) -> list[str]:
    """The seats of a cabin that nobody has, front to back."""
    taken = [row.seat for row in passengers(travel, flight)]
    return [seat for seat in unsold(flight.rows, flight.sold, cabin) if seat not in taken]


def places_left(travel: Travel, flight: Flight, cabin: Cabin) -> int:
    """How many more can be booked in a cabin: a booking takes a place even before it has a seat."""
    booked = [row for row in passengers(travel, flight) if row.cabin == cabin]
    return len(unsold(flight.rows, flight.sold, cabin)) - len(booked)
