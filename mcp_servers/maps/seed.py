"""Seeded initial state of the map: the town with roads, hours and reviews; closures, saved places, past trips."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar, get_args

from ..core import Draw, derive_row_id
from ..shared.people import EmailAddress, cast, get_start_time
from ..shared.places import Place, PlaceKind, places
from .engine import FARTHEST, find_route, new_trip
from .geometry import metres
from .state import (
    ALWAYS,
    HOURS,
    LABELS,
    ROUND_THE_CLOCK,
    ClosureReason,
    Junction,
    MapReview,
    Mode,
    PlaceList,
    RoadClosure,
    SavedPlace,
    TownMap,
    TownPlace,
)
from .town import plan_town

Id = TypeVar("Id", bound=str)
LISTS = (
    "favourites", "want to go", "starred", "work lunches", "Sunday walks", "gift shops", "after school", "quiet places",
    "client dinners", "repairs",
)  # fmt: skip
LEAVING: tuple[PlaceKind, ...] = ("museum", "library", "cinema", "gym")
SPACES: dict[PlaceKind, tuple[int, int]] = {"car park": (40, 400), "charging station": (4, 16)}
MODES: tuple[Mode, ...] = get_args(Mode)
REASONS: tuple[ClosureReason, ...] = get_args(ClosureReason)
REVIEWS = (
    (1, "Waited an hour and left."), (1, "Rude and overpriced."), (2, "Noisy, and hard to find."),
    (2, "Not what it used to be."), (3, "Fine, nothing special."), (3, "Good but crowded at noon."),
    (4, "Friendly staff, fair prices."), (4, "Clean and easy to reach."), (4, "Would come again."),
    (5, "The best in town."), (5, "Wonderful people, every time."), (5, "A hidden gem."),
)  # fmt: skip


class Size(NamedTuple):
    """How many of each a world has; `contacts` are the people trips are shared with."""

    places: int
    contacts: int
    reviews: int
    closures: int
    lists: int
    trips: int


SIZES = {
    "small": Size(places=20, contacts=4, reviews=8, closures=3, lists=2, trips=4),
    "default": Size(places=120, contacts=20, reviews=160, closures=7, lists=4, trips=8),
    "large": Size(places=1_000, contacts=60, reviews=1_800, closures=24, lists=10, trips=30),
}


def seed(seed: int, size: str) -> TownMap:
    """Return the map for this seed; `size` is small, default or large."""
    town, scale = TownMap(seed, get_start_time(seed)), SIZES[size]
    draw = Draw("maps", seed, size)
    if size == "large":
        town.roads.width = town.reviews.width = town.junctions.width = 6
    for person in cast(seed, scale.contacts + 1)[1:]:
        town.contacts.put(person)
    put_town(town, draw, scale.places)
    put_reviews(town, draw, scale.reviews)
    put_closures(town, draw, scale.closures)
    put_lists(town, draw, scale.lists)
    put_trips(town, draw, scale.trips)
    return town


def put_town(town: TownMap, draw: Draw, count: int) -> None:
    """Add the roads, and every place with its hours; one in six places of the LEAVING kinds has closed for good."""
    plan, known = plan_town(town.seed, count), places(town.seed, count)
    for junction in plan.junctions:
        town.junctions.put(junction)
    for road in plan.roads:
        town.roads.put(road)
    leaving = [place.id for place in known if place.kind in LEAVING]
    gone = draw.sample(leaving, max(1, len(leaving) // 6))
    for place, nearest in zip(known, plan.nearest, strict=True):
        town.places.put(town_place(draw, place, town.junctions[nearest], place.id in gone))


def town_place(draw: Draw, place: Place, junction: Junction, gone: bool) -> TownPlace:
    opens, closes = ALWAYS if place.kind in ROUND_THE_CLOCK else (None, None)
    if place.kind in HOURS:
        first, last = HOURS[place.kind]
        opens, closes = first * 60 + 30 * draw.integer(-1, 2), last * 60 + 30 * draw.integer(-2, 1)
    weekdays = (5, 6) if place.kind in ("school", "bank") else (draw.integer(0, 6),) if draw.chance(0.4) else ()
    return TownPlace(
        **{one.name: getattr(place, one.name) for one in fields(place)},  # another server may have cached its hash
        junction=junction.id,
        access=metres(place, junction),
        opens=opens,
        closes=closes,
        closed_on=weekdays if place.kind in HOURS else (),
        spaces=draw.integer(*SPACES[place.kind]) if place.kind in SPACES else None,
        gone=gone,
    )


def put_reviews(town: TownMap, draw: Draw, count: int) -> None:
    """Add reviews by the contacts, of places that people review."""
    rated = [place.id for place in list(town.places)[4:] if place.kind != "school"]
    authors = [person.id for person in town.contacts]
    for number in range(count):
        stars, text = draw.choice(REVIEWS)
        town.reviews.put(
            MapReview(
                id=derive_row_id(town.reviews, number),
                place=draw.choice(rated),
                author=draw.choice(authors),
                stars=stars,
                text=text,
                on=town.now.date() - timedelta(days=draw.integer(1, 700)),
            )
        )


def put_closures(town: TownMap, draw: Draw, count: int) -> None:
    """Add road closures: the first and last reported by the user, the others by the town; the last one is over."""
    streets = [road for road in town.roads if road.kind in ("street", "main road")]
    for number, road in enumerate(draw.sample(streets, count)):
        over = number == count - 1
        since = town.now - timedelta(minutes=draw.integer(20, 60 * 9) + (60 * 48 if over else 0))
        town.closures.put(
            RoadClosure(
                id=town.closures.new_id(),
                road=road.id,
                reason=draw.choice(REASONS),
                reporter=town.me if number == 0 or over else None,
                since=since,
                until=since + timedelta(hours=draw.integer(11, 47)),
            )
        )


def put_lists(town: TownMap, draw: Draw, count: int) -> None:
    open_places = [place for place in town.places if not place.gone]
    for name in draw.sample(LISTS, count):
        chosen = draw.sample(open_places, draw.integer(1, 6))
        saved = tuple(
            SavedPlace(place=one.id, name=one.name, label=draw.choice(LABELS) if draw.chance(0.3) else None)
            for one in chosen
        )
        town.lists.put(PlaceList(id=town.lists.new_id(), name=name, places=saved))


def put_trips(town: TownMap, draw: Draw, count: int) -> None:
    """Add trips of the last days; a contact is on the way now and, in one of four worlds, so is the user."""
    contacts, on_the_way = [person.id for person in town.contacts], draw.chance(0.25)
    while len(town.trips) < count:
        other = contacts[len(town.trips) % len(contacts)]
        theirs, mine = len(town.trips) == 0, len(town.trips) == 1 and on_the_way
        ago = timedelta(minutes=2 if theirs or mine else draw.integer(200, 20_000))
        people = (other, town.me) if theirs or (not mine and draw.chance(0.3)) else (town.me, other)
        put_trip(town, draw, people, town.now - ago, ends=not theirs and not mine)


def put_trip(
    town: TownMap, draw: Draw, people: tuple[EmailAddress, EmailAddress], started: datetime, ends: bool
) -> None:
    """Add a trip between two random places, if there is a route that makes sense."""
    mode = draw.choose_weighted(MODES, (3, 1, 1))
    start, end = draw.sample([place for place in town.places if not place.gone], 2)
    route = find_route(town, start, end, mode, started)
    if route is not None and route.metres <= FARTHEST.get(mode, route.metres):
        trip = new_trip(town.trips.new_id(), people, (start, end), mode, started, route)
        ended = trip.arrives + timedelta(minutes=draw.integer(0, 5)) if ends else None
        town.trips.put(replace(trip, ended=ended))
