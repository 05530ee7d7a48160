"""Tools that look at hotels and their rooms."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter

from .hotels import fewest_left, require_ahead
from .parameters import ROWS, Arrival, AskedStars, City, HotelRef, Limit, Nights
from .rules import city_named
from .server import server
from .state import Travel
from .views_stays import HotelView, RoomOffer, hotel_view


@server.read()
def search_hotels(travel: Travel, city: City, stars: AskedStars = None, limit: Limit = None) -> tuple[HotelView, ...]:
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
        RoomOffer(
            id=room.id,
            kind=room.kind,
            hotel_name=row.name,
            sleeps=room.sleeps,
            left=left,
            night_price=room.price,
            total=room.price * nights,
        )
        for room in rooms
        if (left := fewest_left(travel, room, arrival, nights)) > 0
    )
    return tuple(islice(found, limit or ROWS))
