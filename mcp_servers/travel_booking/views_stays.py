"""What the tools show of hotels: prices, free rooms, stays."""

from __future__ import annotations

from ..kit import Day, Entity
from ..people import EmailAddress
from ..places import PlaceId
from .state import Hotel, HotelId, HotelRoomId, HotelStay, HotelStayId, StayStatus, Travel


class HotelView(Entity):
    """A hotel in a list; `price_from` is that of its cheapest room for a night, in cents."""

    __label__ = "the hotel {name}"
    id: HotelId
    name: str
    city: str
    stars: int
    price_from: int
    free_days: int
    place: PlaceId | None


class RoomOffer(Entity):
    """A kind of room that is free on all nights asked for; prices in cents."""

    __label__ = "the {kind} room of {hotel_name}"
    id: HotelRoomId
    kind: str
    hotel_name: str
    sleeps: int
    left: int
    night_price: int
    total: int


class StayView(Entity):
    """A hotel stay; amounts in cents."""

    __label__ = "the stay of {name} at {hotel_name}"
    id: HotelStayId
    traveller: EmailAddress
    name: str
    room: HotelRoomId
    hotel_name: str
    city: str
    kind: str
    arrival: Day
    nights: int
    guests: int
    status: StayStatus
    total: int
    refunded: int


def hotel_view(travel: Travel, hotel: Hotel) -> HotelView:
    return HotelView(
        id=hotel.id,
        name=hotel.name,
        city=hotel.city,
        stars=hotel.stars,
        price_from=min(room.price for room in travel.rooms.where(hotel=hotel.id)),
        free_days=hotel.free_days,
        place=hotel.place,
    )


def stay_view(travel: Travel, row: HotelStay) -> StayView:
    hotel = travel.hotel_of(row)
    return StayView(
        id=row.id,
        traveller=row.traveller,
        name=travel.travellers[row.traveller].name,
        room=row.room,
        hotel_name=hotel.name,
        city=hotel.city,
        kind=travel.rooms[row.room].kind,
        arrival=row.arrival,
        nights=row.nights,
        guests=row.guests,
        status=row.status,
        total=row.price,
        refunded=row.refunded,
    )
