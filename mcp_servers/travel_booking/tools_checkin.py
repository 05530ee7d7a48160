"""Tools on what a booking becomes before departure: seat, bags, upgrade, check-in."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError, minute_text
from .fares import BAG_FEE, CHECK_IN_OPENS, CLOSES, MOST_BAGS, miles_for, upgrade_miles
from .ledger import add_miles, pay
from .parameters import BookingRef, MoreBags, Passport, Seat
from .rules import active_booking, changeable_booking, require_place, require_valid_passport
from .seats import cabin_of, free_seats, seats_of
from .server import server
from .state import Travel
from .views import BookingDetails, booking_details


@server.write(idempotent=True)
def choose_flight_seat(travel: Travel, booking: BookingRef, seat: Seat) -> BookingDetails:
    """Choose a free seat in the cabin of a booking."""
    row, flight = changeable_booking(travel, booking)
    if seat not in seats_of(flight.rows):
        raise ToolError("no_such_seat", f"{flight.number} has {flight.rows} rows, so no seat {seat}; choose another.")
    if cabin_of(seat) != row.cabin:
        raise ToolError(
            "wrong_cabin", f"Seat {seat} is in {cabin_of(seat)} and {booking} in {row.cabin}; choose one there."
        )
    if seat == row.seat:
        raise ToolError("seat_unchanged", f"{booking} has seat {seat} already; choose another one.")
    if seat not in free_seats(travel, flight, row.cabin):
        raise ToolError("seat_taken", f"Seat {seat} on {flight.number} is taken; list_free_seats shows those left.")
    return booking_details(travel, travel.bookings.change(booking, seat=seat))


@server.write()
def add_checked_bags(travel: Travel, booking: BookingRef, bags: MoreBags) -> BookingDetails:
    """Add checked bags to a booking, 3500 cents each, up to 4 in all."""
    row, _ = changeable_booking(travel, booking)
    if row.bags + bags > MOST_BAGS:
        raise ToolError(
            "too_many_bags", f"{booking} has {row.bags} bags and can have {MOST_BAGS}; add {MOST_BAGS - row.bags}."
        )
    pay(travel, bags * BAG_FEE, "bags", booking=booking)
    changed = travel.bookings.change(booking, bags=row.bags + bags, bag_fees=row.bag_fees + bags * BAG_FEE)
    return booking_details(travel, changed)


@server.write(idempotent=True)
def upgrade_with_miles(travel: Travel, booking: BookingRef) -> BookingDetails:
    """Upgrade a booking to business, paid with the traveller's miles."""
    row, flight = changeable_booking(travel, booking)
    if row.cabin == "business":
        raise ToolError("already_business", f"{booking} is in business already; nothing is left to do.")
    person, cost = travel.travellers[row.traveller], upgrade_miles(flight)
    if person.miles < cost:
        raise ToolError(
            "insufficient_miles", f"This upgrade costs {cost} miles and {person.name} has {person.miles}; collect more."
        )
    require_place(travel, flight, "business")
    add_miles(travel, person.id, -cost, "upgrade", booking)
    return booking_details(travel, travel.bookings.change(booking, cabin="business", seat=None))


@server.write(idempotent=True)
def check_in_for_flight(travel: Travel, booking: BookingRef, passport: Passport) -> BookingDetails:
    """Check in with the traveller's passport, from 24 hours to 1 hour before departure."""
    row, flight = active_booking(travel, booking)
    if row.status == "checked_in":
        raise ToolError("already_checked_in", f"{booking} is checked in already, on seat {row.seat}; nothing is left.")
    opens, closes = flight.departs - timedelta(hours=CHECK_IN_OPENS), flight.departs - timedelta(hours=CLOSES)
    if travel.now < opens:
        raise ToolError(
            "check_in_not_open", f"Check-in for {flight.number} opens at {minute_text(opens)}; come back then."
        )
    if travel.now >= closes:
        raise ToolError(
            "check_in_closed", f"Check-in for {flight.number} closed at {minute_text(closes)}; see the airline."
        )
    person = travel.travellers[row.traveller]
    require_valid_passport(person, flight.departs.date())
    if passport != person.passport:
        raise ToolError("wrong_passport", f"This is not the passport number of {person.name}; ask for the right one.")
    add_miles(travel, person.id, miles_for(flight, row.fare), "check-in", booking)
    seat = row.seat or free_seats(travel, flight, row.cabin)[-1]
    return booking_details(travel, travel.bookings.change(booking, status="checked_in", seat=seat))


@server.known_by_heart
def passports(travel: Travel) -> dict[tuple[str, str], str]:
    """The user knows the passport of every traveller, for each booking it is needed for."""
    known = {row.id: row.passport for row in travel.travellers if row.passport is not None}
    return {(row.id, "passport"): known[row.traveller] for row in travel.bookings if row.traveller in known}
