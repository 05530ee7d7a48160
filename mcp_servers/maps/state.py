"""State of the map: places, junctions and the roads between them, closures, lists of places and shared trips."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from typing import Literal, NewType

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.people import EmailAddress, Person, cast
from ..shared.places import Place, PlaceId, PlaceKind

JunctionId = NewType("JunctionId", str)
RoadId = NewType("RoadId", str)
RoadClosureId = NewType("RoadClosureId", str)
PlaceListId = NewType("PlaceListId", str)
TripShareId = NewType("TripShareId", str)
MapReviewId = NewType("MapReviewId", str)

RoadKind = Literal["motorway", "main road", "street", "path"]
Mode = Literal["driving", "cycling", "walking"]
ClosureReason = Literal["accident", "roadworks", "flooding", "fallen tree", "street festival"]


class TownPlace(Place):
    """A place with where it lies on the road graph: `access` metres from its junction. Hours are minutes of the day,
    none when nobody needs to know them; `closed_on` are weekdays, Monday 0. `gone` places have closed for good.
    """

    junction: JunctionId
    access: int
    opens: int | None = None
    closes: int | None = None
    closed_on: tuple[int, ...] = ()
    spaces: int | None = None
    gone: bool = False

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the distinct words of the place's name, kind and address."""
        return words_of(f"{self.name} {self.kind} {self.street}")

    @property
    def address(self) -> str:
        """Return the street in lower case."""
        return self.street.casefold()


class Junction(Entity):
    """A point where roads meet, in micro-degrees."""

    id: JunctionId
    latitude: int
    longitude: int


class RoadSegment(Entity):
    """A piece of road between two junctions: length in metres, speed in km an hour. A one-way road leads to its end."""

    __label__ = "the {kind} {name}"
    id: RoadId
    name: str
    kind: RoadKind
    start: JunctionId
    end: JunctionId
    length: int
    speed: int
    one_way: bool = False
    toll: bool = False


class MapReview(Entity):
    """What somebody wrote about a place."""

    id: MapReviewId
    place: PlaceId
    author: EmailAddress
    stars: int
    text: str
    on: Day


class RoadClosure(Entity):
    """A road nobody but walkers can use for a time; without a reporter the town has closed it."""

    __label__ = "the {reason} report"
    id: RoadClosureId
    road: RoadId
    reason: ClosureReason
    reporter: EmailAddress | None
    since: Minute
    until: Minute

    def active(self, moment: datetime) -> bool:
        return self.since <= moment < self.until


class SavedPlace(Entity):
    """A place in a list, with the user's own words for it."""

    place: PlaceId
    name: str
    label: str | None = None


class PlaceList(Entity):
    """A list of places the user has saved."""

    __label__ = "the list {name}"
    id: PlaceListId
    name: str
    places: tuple[SavedPlace, ...] = ()


class TripShare(Entity):
    """A trip that one person lets another follow until ending it; `metres` is the way by these roads."""

    __label__ = "the {mode} trip of {started}"
    id: TripShareId
    sharer: EmailAddress
    viewer: EmailAddress
    origin: PlaceId
    destination: PlaceId
    mode: Mode
    started: Minute
    arrives: Minute
    metres: int
    roads: tuple[RoadId, ...]
    ended: Minute | None = None


class TownMap(State):
    """The map of the user's town with what the user has done on it."""

    places: Table[PlaceId, TownPlace] = table("PLC", "place", index=("kind", "words", "address", "junction"))
    junctions: Table[JunctionId, Junction] = table("JCT", "junction")
    roads: Table[RoadId, RoadSegment] = table("ROD", "road", index=("start", "end"))
    reviews: Table[MapReviewId, MapReview] = table("MRV", "review", index=("place",))
    closures: Table[RoadClosureId, RoadClosure] = table("CLO", "road closure", index=("road",))
    lists: Table[PlaceListId, PlaceList] = table("PLS", "place list")
    contacts: Table[EmailAddress, Person] = table("MCT", "contact")
    trips: Table[TripShareId, TripShare] = table("TSH", "shared trip", index=("sharer",))

    @property
    def me(self) -> EmailAddress:
        """Return the user's e-mail address."""
        return cast(self.seed, 1)[0].id


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in lower case."""
    return tuple(dict.fromkeys(text.casefold().replace(",", " ").split()))


LABELS = [
    "best coffee", "Ben's favourite", "book ahead", "cash only", "cheap parking", "closed in August", "dentist",
    "good for groups", "great view", "meeting point", "open late", "quiet corner", "step-free", "try the soup",
]  # fmt: skip


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
    """Return whether a place is open, or None for a place without opening hours, such as a home or an office."""
    if place.gone:
        return False
    if place.opens is None or place.closes is None:
        return None
    if moment.weekday() in place.closed_on:
        return False
    return place.opens <= moment.hour * 60 + moment.minute < place.closes


def hours_text(place: TownPlace) -> str | None:
    """Return the opening hours, such as 09:00-18:00 or "always", or None."""
    if place.opens is None or place.closes is None or place.gone:
        return None
    return "always" if (place.opens, place.closes) == ALWAYS else f"{clock(place.opens)}-{clock(place.closes)}"


def clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def free_spaces(seed: int, place: TownPlace, moment: datetime) -> int | None:
    """Return how many spaces are free this hour: few on weekdays in working hours, sometimes 0; None without spaces."""
    if place.spaces is None:
        return None
    mark = blake2b(f"{seed}/{place.id}/{moment:%Y-%m-%d/%H}".encode(), digest_size=2).digest()
    crowd = 60 if moment.weekday() < 5 and 8 <= moment.hour < 18 else 20
    return place.spaces * max(0, 100 - crowd - mark[0] % 60) // 100
