"""When a room is free, and when the agency refuses a stay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from hashlib import blake2b

from ..kit import ToolError
from ..people import EmailAddress
from .state import ONE_DAY, HotelRoom, HotelRoomId, HotelStay, HotelStayId, Travel, nights_from

FURTHEST = timedelta(days=365)


def strangers(seed: int, room: HotelRoom, night: date) -> int:
    """How many rooms of this kind strangers have that night: from none to all, the same whenever asked."""
    return demand(seed, room.id, night) * (room.count + 1) // 256


@lru_cache(maxsize=1 << 16)
def demand(seed: int, room: HotelRoomId, night: date) -> int:
    """How much strangers want a kind of room that night, from 0 to 255."""
    return min(blake2b(f"{seed}/{room}/{night.isoformat()}".encode(), digest_size=2).digest())


def rooms_left(travel: Travel, room: HotelRoom, night: date, besides: HotelStayId | None = None) -> int:
    """How many rooms of this kind nobody has that night; the stay `besides` does not count."""
    stays = travel.stays.where(room=room.id)
    own = [row for row in stays if row.arrival <= night <= row.last and row.active and row.id != besides]
    return room.count - strangers(travel.seed, room, night) - len(own)


def fewest_left(travel: Travel, room: HotelRoom, arrival: date, nights: int) -> int:
    return min([rooms_left(travel, room, night) for night in nights_from(arrival, nights)])


def require_ahead(travel: Travel, arrival: date) -> None:
    """Raises ToolError unless the agency sells this night."""
    today = travel.now.date()
    if arrival < today:
        raise ToolError("in_the_past", f"{arrival} is past; today is {today}. Name a day to come.")
    if arrival > today + FURTHEST:
        raise ToolError("too_far_ahead", f"Rooms are sold until {today + FURTHEST}; name an earlier day.")


def require_room(
    travel: Travel, room: HotelRoomId, arrival: date, nights: int, besides: HotelStayId | None = None
) -> None:
    """Raises ToolError when the room is sold out on one of the nights."""
    row = travel.rooms[room]
    for night in nights_from(arrival, nights):
        if rooms_left(travel, row, night, besides) < 1:
            raise ToolError(
                "room_not_available", f"No {row.kind} room is left on {night}; choose other nights or another room."
            )


def require_not_elsewhere(
    travel: Travel, traveller: EmailAddress, nights: Sequence[date], besides: HotelStayId | None = None
) -> None:
    """Raises ToolError when another stay has the traveller in a bed on one of these nights."""
    for row in travel.stays.where(traveller=traveller):
        if row.active and row.id != besides and row.arrival <= nights[-1] and nights[0] <= row.last:
            raise ToolError(
                "overlapping_stay",
                f"{row.id} has the traveller at {travel.hotel_of(row).name} from {row.arrival} for {row.nights} "
                "nights; choose other nights, or change or cancel that stay.",
            )


def coming_stay(travel: Travel, id: HotelStayId) -> HotelStay:
    """The stay, which is still to come. Raises ToolError when it is cancelled or has begun."""
    row = travel.stays[id]
    if not row.active:
        raise ToolError("stay_cancelled", f"{id} is cancelled; book the room again.")
    if row.arrival <= travel.now.date():
        raise ToolError("stay_begun", f"{id} began on {row.arrival}; only the hotel can change it now.")
    return row


def free_of_charge(travel: Travel, stay: HotelStay) -> bool:
    """Whether a stay can still be changed or cancelled without a charge."""
    return travel.now.date() <= stay.arrival - travel.hotel_of(stay).free_days * ONE_DAY
