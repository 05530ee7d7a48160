"""The hotels of a world with their rooms, and the stays that are booked in them."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from ..kit import Draw
from ..places import places, town
from .hotels import fewest_left
from .ledger import pay
from .state import Hotel, HotelRoom, HotelStay, Travel

NAMES = (
    "Amber", "Anchor", "Arcade", "Atlas", "Beacon", "Bellevue", "Bridge", "Canal", "Cathedral", "Cedar", "Chestnut",
    "Compass", "Coral", "Crescent", "Crown", "Emerald", "Falcon", "Garden", "Harbour", "Heron", "Ivory", "Juniper",
    "Lakeside", "Lantern", "Laurel", "Lighthouse", "Magnolia", "Maple", "Meridian", "Mirador", "Opera", "Orchard",
    "Palace", "Pearl", "Regent", "Riverside", "Saffron", "Terrace", "Velvet", "Willow",
)  # fmt: skip
FORMS = ("{} Hotel", "Hotel {}", "{} Inn", "{} Suites", "The {} House", "{} Lodge", "Grand {}", "{} Rooms")


class RoomKind(NamedTuple):
    name: str
    sleeps: int
    percent: int


KINDS = (
    RoomKind("double", 2, 100), RoomKind("single", 1, 70), RoomKind("family", 4, 150), RoomKind("suite", 3, 220),
)  # fmt: skip


def put_hotels(travel: Travel, draw: Draw, cities: list[str], count: int, kinds: int) -> None:
    """Hotels in the cities that flights go to, in turn; those of the user's town stand at places of the town."""
    names, home = dict[str, None](), town(travel.seed)
    local = [place for place in places(travel.seed) if place.kind == "hotel"]
    for number in range(count):
        city = [*cities[1:], cities[0]][number % len(cities)]
        place = local.pop(0) if city == home.name and local else None
        name = place.name if place else fresh_name(draw, names)
        names[name] = None
        stars = draw.weighted((2, 3, 4, 5), (2, 4, 3, 1))
        hotel = travel.hotels.put(
            Hotel(
                id=travel.hotels.new_id(),
                name=name,
                city=city,
                stars=stars,
                free_days=draw.choice((0, 1, 1, 2, 3, 5)),
                place=place.id if place else None,
            )
        )
        base = stars * draw.integer(22, 48)
        for kind in KINDS[:kinds]:
            travel.rooms.put(
                HotelRoom(
                    id=travel.rooms.new_id(),
                    hotel=hotel.id,
                    kind=kind.name,
                    sleeps=kind.sleeps,
                    price=base * kind.percent // 100 * 100,
                    count=draw.integer(2, 8),
                )
            )


def fresh_name(draw: Draw, taken: dict[str, None]) -> str:
    """A hotel's name that no other hotel has."""
    while True:
        name = draw.choice(FORMS).format(draw.choice(NAMES))
        if name not in taken:
            return name


def put_stays(travel: Travel, draw: Draw, count: int) -> None:
    """Stays to come, no two of one traveller close to each other; one in five is cancelled, some begin today."""
    people, rooms = draw.shuffled(list(travel.travellers)), list(travel.rooms)
    while len(travel.stays) < count:
        room, nights = draw.choice(rooms), draw.integer(1, 4)
        place = len(travel.stays) % len(people)
        round = len(travel.stays) // len(people)
        arrival = travel.now.date() + timedelta(days=18 * round + draw.integer(0, 12))
        if fewest_left(travel, room, arrival, nights) < 1:
            continue
        cancelled = arrival > travel.now.date() and draw.chance(0.2)
        price = room.price * nights
        stay = travel.stays.put(
            HotelStay(
                id=travel.stays.new_id(),
                room=room.id,
                traveller=people[place].id,
                arrival=arrival,
                nights=nights,
                guests=draw.integer(1, room.sleeps),
                status="cancelled" if cancelled else "booked",
                price=price,
                refunded=price if cancelled else 0,
            )
        )
        pay(travel, price, "hotel", stay=stay.id)
        pay(travel, -stay.refunded, "refund", stay=stay.id)
