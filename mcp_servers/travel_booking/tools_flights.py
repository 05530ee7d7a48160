"""Tools for flights and their bookings: search, book, change, check in."""

from __future__ import annotations

from datetime import timedelta
from operator import attrgetter

from ..core import ToolError, minute_text
from .engine import (
    BAG_FEE,
    CHECK_IN_OPENS,
    CLOSES,
    FARES,
    MOST_BAGS,
    active_booking,
    add_miles,
    cabin_for,
    cabin_of,
    changeable_booking,
    city_named,
    free_seats,
    miles_for,
    pay,
    price_of,
    refund_of,
    require_open,
    require_passport,
    require_place,
    require_time,
    require_valid_passport,
    seats_of,
    upgrade_miles,
    window_passed,
)
from .server import (
    ROWS,
    BookingRef,
    CabinParam,
    DayParam,
    DestinationParam,
    FareChoice,
    FlightRef,
    Limit,
    MoreBags,
    OriginParam,
    Passport,
    PositionParam,
    Seat,
    TravellerRef,
    server,
)
from .state import CABINS, Flight, FlightBooking, Travel
from .views import (
    BookingDetails,
    FlightDetails,
    FlightStatus,
    FlightView,
    SeatView,
    booking_details,
    fare_offers,
    flight_view,
    seat_view,
)

# Tools for flight bookings: book, look up, change, cancel.


@server.write(idempotent=True)
def book_flight(travel: Travel, flight: FlightRef, traveller: TravellerRef, fare: FareChoice) -> BookingDetails:
    """Book a flight for a traveller. A flight abroad needs a passport valid on its day."""
    row, person, cabin = travel.flights[flight], travel.travellers[traveller], cabin_for(fare)
    require_open(travel, row)
    require_time(travel, person, row)
    require_passport(person, row)
    require_place(travel, row, cabin)
    booking = travel.bookings.put(
        FlightBooking(
            id=travel.bookings.new_id(),
            flight=flight,
            traveller=traveller,
            fare=fare,
            cabin=cabin,
            status="confirmed",
            bags=FARES[fare].bags,
            fare_price=price_of(row, fare),
        )
    )
    pay(travel, booking.total, "flight", booking=booking.id)
    return booking_details(travel, booking)


@server.read()
def get_flight_booking(travel: Travel, booking: BookingRef) -> BookingDetails:
    """Get one flight booking with its fare, seat, bags and cost in cents."""
    return booking_details(travel, travel.bookings[booking])


@server.write(idempotent=True)
def change_flight(travel: Travel, booking: BookingRef, flight: FlightRef) -> BookingDetails:
    """Move a booking to another flight on its route. Fee and difference are paid; the seat is given up."""
    row, old = changeable_booking(travel, booking)
    new, person = travel.flights[flight], travel.travellers[row.traveller]
    fee = FARES[row.fare].change_fee
    if fee is None:
        raise ToolError("fare_not_changeable", f"{booking} is a {row.fare} fare, which cannot be changed; cancel it.")
    if window_passed(travel, row, old):
        hours = FARES[row.fare].window
        raise ToolError("change_window_passed", f"{booking} could be changed until {hours} hours before departure.")
    if new.id == old.id:
        raise ToolError("same_flight", f"{booking} is on {old.number} already; choose another flight.")
    if (new.origin, new.destination) != (old.origin, old.destination):
        raise ToolError(
            "other_route",
            f"{new.number} does not go from {old.origin} to {old.destination}; choose a flight that does.",
        )
    require_open(travel, new)
    require_time(travel, person, new, besides=booking)
    require_passport(person, new)
    require_place(travel, new, row.cabin)
    price = price_of(new, row.fare)
    pay(travel, price - row.fare_price + fee, "change", booking=booking)
    return booking_details(
        travel,
        travel.bookings.change(booking, flight=flight, seat=None, fare_price=price, change_fees=row.change_fees + fee),
    )


@server.write(destructive=True, idempotent=True)
def cancel_flight_booking(travel: Travel, booking: BookingRef) -> BookingDetails:
    """Cancel a flight booking for good, for the refund its fare allows."""
    row, flight = changeable_booking(travel, booking)
    if window_passed(travel, row, flight):
        hours = FARES[row.fare].window
        raise ToolError(
            "cancellation_window_passed", f"{booking} could be cancelled until {hours} hours before departure."
        )
    pay(travel, -refund_of(row), "refund", booking=booking)
    spent = -sum(entry.miles for entry in travel.miles.where(booking=booking))
    if spent:
        add_miles(travel, row.traveller, spent, "upgrade returned", booking)
    return booking_details(
        travel, travel.bookings.change(booking, status="cancelled", seat=None, refunded=refund_of(row))
    )


# Tools for a booking before departure: seat, bags, upgrade, check-in.


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
    """Return what the user knows: the passport number of the traveller for each booking."""
    known = {row.id: row.passport for row in travel.travellers if row.passport is not None}
    return {(row.id, "passport"): known[row.traveller] for row in travel.bookings if row.traveller in known}


# Tools that look at flights: search, details with fares, free seats.

MOST_ALTERNATIVES = 3


@server.read()
def search_flights(
    travel: Travel,
    origin: OriginParam = None,
    destination: DestinationParam = None,
    day: DayParam = None,
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
    filters = {name: value for name, value in wanted.items() if value is not None}
    rows = [row for row in (travel.flights.where(**filters) if filters else travel.flights) if row.departs > travel.now]
    rows.sort(key=attrgetter("departs", "number"))
    return tuple([flight_view(row) for row in rows[: limit or ROWS]])


@server.read()
def get_flight(travel: Travel, flight: FlightRef) -> FlightDetails:
    """Get a flight with its fares in cents and alternatives."""
    row = travel.flights[flight]
    return FlightDetails.from_row(
        row,
        from_city=row.origin,
        to_city=row.destination,
        status=status_of(travel, row),
        upgrade_miles=upgrade_miles(row),
        fares=fare_offers(travel, row),
        alternatives=tuple([other.id for other in on_route(travel, row) if other.id != flight][:MOST_ALTERNATIVES]),
    )


def on_route(travel: Travel, flight: Flight) -> list[Flight]:
    """Return the coming flights between the same cities, the next first."""
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
    cabin: CabinParam = None,
    position: PositionParam = None,
    limit: Limit = None,
) -> tuple[SeatView, ...]:
    """List the seats of a flight that are free, economy first, front to back."""
    row = travel.flights[flight]
    require_open(travel, row)
    found = [seat_view(seat) for one in CABINS if cabin in (None, one) for seat in free_seats(travel, row, one)]
    return tuple([seat for seat in found if position in (None, seat.position)][: limit or ROWS])
