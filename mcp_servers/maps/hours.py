"""When places are open, and how many of their spaces are free."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from ..places import PlaceKind
from .state import TownPlace

ALWAYS = (0, 24 * 60)
HOURS: dict[PlaceKind, tuple[int, int]] = {
    "restaurant": (11, 23), "cafe": (7, 18), "supermarket": (8, 21), "pharmacy": (9, 19), "museum": (10, 18),
    "school": (8, 16), "bank": (9, 16), "library": (10, 19), "cinema": (14, 23), "gym": (6, 22), "park": (6, 21),
}  # fmt: skip
ROUND_THE_CLOCK: tuple[PlaceKind, ...] = (
    "fuel station", "charging station", "car park", "hotel", "hospital", "train station", "airport",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def is_open(place: TownPlace, moment: datetime) -> bool | None:
    """Whether a place is open; none for a home or an office, which nobody asks this of."""
    if place.gone:
        return False
    if place.opens is None or place.closes is None:
        return None
    if moment.weekday() in place.closed_on:
        return False
    return place.opens <= moment.hour * 60 + moment.minute < place.closes


def hours_text(place: TownPlace) -> str | None:
    """The opening hours, such as 09:00-18:00."""
    if place.opens is None or place.closes is None or place.gone:
        return None
    return "always" if (place.opens, place.closes) == ALWAYS else f"{clock(place.opens)}-{clock(place.closes)}"


def clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def free_spaces(seed: int, place: TownPlace, moment: datetime) -> int | None:
    """How many spaces are free this hour: few on weekdays in working hours, none at times."""
    if place.spaces is None:
        return None
    mark = blake2b(f"{seed}/{place.id}/{moment:%Y-%m-%d/%H}".encode(), digest_size=2).digest()
    crowd = 60 if moment.weekday() < 5 and 8 <= moment.hour < 18 else 20
    return place.spaces * max(0, 100 - crowd - mark[0] % 60) // 100
