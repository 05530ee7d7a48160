"""Tools on hotel stays: book, change, cancel."""

from __future__ import annotations

from ..kit import ToolError
from .hotels import coming_stay, free_of_charge, require_ahead, require_not_elsewhere, require_room
from .ledger import pay
from .parameters import Arrival, Guests, Nights, RoomRef, StayRef, TravellerRef
from .server import server
from .state import HotelStay, Travel, nights_from
from .views_stays import StayView, stay_view


@server.write(idempotent=True)
def book_hotel_room(
    travel: Travel, room: RoomRef, traveller: TravellerRef, arrival: Arrival, nights: Nights, guests: Guests = None
) -> StayView:
    """Book a hotel room for a traveller for some nights."""
    row, person, count = travel.rooms[room], travel.travellers[traveller], guests or 1
    require_ahead(travel, arrival)
    if count > row.sleeps:
        raise ToolError("too_many_guests", f"A {row.kind} room sleeps {row.sleeps}, not {count}; choose a larger room.")
    require_not_elsewhere(travel, person.id, nights_from(arrival, nights))
    require_room(travel, room, arrival, nights)
    stay = travel.stays.put(
        HotelStay(
            id=travel.stays.new_id(),
            room=room,
            traveller=traveller,
            arrival=arrival,
            nights=nights,
            guests=count,
            status="booked",
            price=row.price * nights,
        )
    )
    pay(travel, stay.price, "hotel", stay=stay.id)
    return stay_view(travel, stay)


@server.write(idempotent=True)
def change_hotel_stay(travel: Travel, stay: StayRef, arrival: Arrival, nights: Nights) -> StayView:
    """Move a coming stay to other nights in the same room. The difference is paid or returned."""
    row = coming_stay(travel, stay)
    if not free_of_charge(travel, row):
        raise ToolError(
            "change_window_passed",
            f"{stay} could be changed until {travel.hotel_of(row).free_days} days before arrival; keep or cancel it.",
        )
    require_ahead(travel, arrival)
    if (row.arrival, row.nights) == (arrival, nights):
        raise ToolError("stay_unchanged", f"{stay} is for these nights already; name others.")
    require_not_elsewhere(travel, row.traveller, nights_from(arrival, nights), besides=stay)
    require_room(travel, row.room, arrival, nights, besides=stay)
    price = travel.rooms[row.room].price * nights
    pay(travel, price - row.price, "change", stay=stay)
    return stay_view(travel, travel.stays.change(stay, arrival=arrival, nights=nights, price=price))


@server.write(destructive=True, idempotent=True)
def cancel_hotel_stay(travel: Travel, stay: StayRef) -> StayView:
    """Cancel a coming stay for good. Late, the first night is kept."""
    row = coming_stay(travel, stay)
    kept = 0 if free_of_charge(travel, row) else travel.rooms[row.room].price
    pay(travel, kept - row.price, "refund", stay=stay)
    return stay_view(travel, travel.stays.change(stay, status="cancelled", refunded=row.price - kept))
