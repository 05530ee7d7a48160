"""Tools for hotels, stays and travellers."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from itertools import islice
from operator import attrgetter

from ..core import ToolError
from .engine import (
    city_named,
    coming_stay,
    fewest_left,
    free_of_charge,
    pay,
    require_ahead,
    require_not_elsewhere,
    require_room,
)
from .server import (
    ROWS,
    Arrival,
    City,
    Expires,
    Guests,
    HotelRef,
    Limit,
    NameParam,
    NewPassport,
    Nights,
    RoomRef,
    Since,
    StarsParam,
    StayRef,
    TravellerParam,
    TravellerRef,
    Until,
    server,
)
from .state import HotelStay, Travel, nights_from
from .views import (
    HotelView,
    Itinerary,
    MilesAccount,
    MilesLine,
    RoomOffer,
    StayView,
    TravellerView,
    booking_view,
    hotel_view,
    stay_view,
    traveller_view,
)

# Tools that look at hotels and their rooms.


@server.read()
def search_hotels(travel: Travel, city: City, stars: StarsParam = None, limit: Limit = None) -> tuple[HotelView, ...]:
    """Search the hotels of a city, the cheapest first; prices in cents per night."""
    rows = [row for row in travel.hotels.where(city=city_named(city)) if row.stars >= (stars or 0)]
    found = sorted((hotel_view(travel, row) for row in rows), key=lambda row: (row.price_from, row.id))
    return tuple(found[: limit or ROWS])


@server.read()
def list_free_rooms(
    travel: Travel, hotel: HotelRef, arrival: Arrival, nights: Nights, limit: Limit = None
) -> tuple[RoomOffer, ...]:
    """List the rooms of a hotel that are free on all nights, cheapest first."""
    row = travel.hotels[hotel]
    require_ahead(travel, arrival)
    rooms = sorted(travel.rooms.where(hotel=hotel), key=attrgetter("price", "id"))
    found = (
        RoomOffer.from_row(room, hotel_name=row.name, left=left, night_price=room.price, total=room.price * nights)
        for room in rooms
        if (left := fewest_left(travel, room, arrival, nights)) > 0
    )
    return tuple(islice(found, limit or ROWS))


# Tools for hotel stays: book, change, cancel.


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
    fee = 0 if free_of_charge(travel, row) else travel.rooms[row.room].price
    pay(travel, fee - row.price, "refund", stay=stay)
    return stay_view(travel, travel.stays.change(stay, status="cancelled", refunded=row.price - fee))


# Tools for travellers: search, passports, miles and itineraries.

LONGEST = timedelta(days=3653)


@server.read()
def find_travellers(travel: Travel, name: NameParam = None, limit: Limit = None) -> tuple[TravellerView, ...]:
    """Find the travellers you book for, all of them or by name."""
    wanted = (name or "").casefold()
    rows = [row for row in travel.travellers if wanted in row.name.casefold()]
    return tuple(traveller_view(row) for row in rows[: limit or ROWS])


@server.write(idempotent=True)
def renew_passport(
    travel: Travel, traveller: TravellerRef, new_passport: NewPassport, expires: Expires
) -> TravellerView:
    """Enter a traveller's new passport in place of the one on file."""
    row, today = travel.travellers[traveller], travel.now.date()
    if expires < today:
        raise ToolError("passport_expired", f"A passport valid until {expires} has expired; enter a valid one.")
    if expires > today + LONGEST:
        raise ToolError("expiry_too_late", f"No passport is valid for over ten years; check the date {expires}.")
    if (row.passport, row.passport_expires) == (new_passport, expires):
        raise ToolError("passport_unchanged", f"This passport of {row.name} is on file already; nothing is left to do.")
    owners = [other.name for other in travel.travellers.where(passport=new_passport) if other.id != traveller]
    if owners:
        raise ToolError("passport_in_use", f"This is the passport number of {owners[0]}; check the number.")
    return traveller_view(travel.travellers.change(traveller, passport=new_passport, passport_expires=expires))


@server.read()
def get_miles_account(travel: Travel, traveller: TravellerRef, limit: Limit = None) -> MilesAccount:
    """Get a traveller's miles and the latest movements."""
    row = travel.travellers[traveller]
    rows = travel.miles.where(traveller=traveller)[::-1][: limit or ROWS]
    lines = [MilesLine.from_row(entry) for entry in rows]
    return MilesAccount.from_row(row, entries=tuple(lines))


@server.read()
def get_itinerary(
    travel: Travel,
    traveller: TravellerParam = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = None,
) -> Itinerary:
    """List flight bookings and hotel stays in order, with what all cost in cents."""
    first = since or travel.now.date()
    start = travel.now if since is None else datetime.combine(since, time())
    if until is not None and until < first:
        raise ToolError("empty_period", f"{until} is before {first}; name a later last day.")
    who = None if traveller is None else travel.travellers[traveller].id
    end = datetime.max if until is None else datetime.combine(until, time.max)
    bookings = travel.bookings if who is None else travel.bookings.where(traveller=who)
    flown = sorted(
        (at, row.id, row) for row in bookings if row.active and start <= (at := travel.flight_of(row).departs) <= end
    )
    stays = travel.stays if who is None else travel.stays.where(traveller=who)
    slept = [row for row in stays if row.active and row.last >= first and row.arrival <= (until or row.arrival)]
    slept.sort(key=attrgetter("arrival", "id"))
    return Itinerary(
        flights=tuple([booking_view(travel, row) for _, _, row in flown[: limit or ROWS]]),
        stays=tuple([stay_view(travel, row) for row in slept[: limit or ROWS]]),
        total=sum([row.total for _, _, row in flown]) + sum([row.price for row in slept]),
    )
