"""Tools on flight bookings: book, look up, change, cancel."""

from __future__ import annotations

from ..kit import ToolError
from .fares import FARES, cabin_for, price_of, refund_of
from .ledger import add_miles, pay
from .parameters import BookingRef, FareChoice, FlightRef, TravellerRef
from .rules import (
    changeable_booking,
    require_open,
    require_passport,
    require_place,
    require_time,
    window_passed,
)
from .server import server
from .state import FlightBooking, Travel
from .views import BookingDetails, booking_details


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
