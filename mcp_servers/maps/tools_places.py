"""Tools that look places up: search, details, addresses and points."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from heapq import nsmallest
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from ..kit import ToolError
from ..places import Place, places
from .geometry import format_point, metres, nearest
from .hours import WEEKDAYS, free_spaces, hours_text, is_open
from .parameters import ROWS, Address, AskedKind, AskedNear, Limit, OpenAt, PlaceRef, PointText, Query
from .server import server
from .state import Junction, Road, TownMap, TownPlace, words_of
from .town import plan_town
from .views import GeocodingResult, PlaceDetails, PlaceView, ReviewView, Surroundings

FARTHEST = 5_000
REVIEWS = 2


@server.read()
def search_places(
    town: TownMap,
    query: Query = None,
    kind: AskedKind = None,
    near: AskedNear = None,
    open_at: OpenAt = None,
    limit: Limit = None,
) -> tuple[PlaceView, ...]:
    """Search the places of the town by words, kind, nearness and opening hours."""
    middle = None if near is None else town.places[near]
    words, most = words_of(query or ""), limit or ROWS
    rows: Iterable[TownPlace] = town.places if kind is None else town.places.where(kind=kind)
    if words:
        known = town.places.where(words=words[0])
        rows = [row for row in known if kind in (None, row.kind) and all(word in row.words for word in words)]
    if open_at is not None:
        rows = (row for row in rows if is_open(row, open_at))
    if middle is not None:
        others = [row for row in rows if row.id != near]
        rows = nsmallest(most, others, key=lambda row: (metres(middle, row), row.id))
    return tuple([place_view(town, row, middle) for row in islice(rows, most)])


def place_view(town: TownMap, row: TownPlace, middle: TownPlace | None) -> PlaceView:
    return PlaceView(
        id=row.id,
        name=row.name,
        kind=row.kind,
        street_address=row.street,
        open_now=is_open(row, town.now),
        metres=None if middle is None else metres(middle, row),
    )


@server.read()
def get_place_details(town: TownMap, place: PlaceRef) -> PlaceDetails:
    """Get a place with its address, opening hours, free spaces, rating and reviews."""
    row, reviews = town.places[place], town.reviews.where(place=place)
    latest = sorted(reviews, key=lambda review: (review.on, review.id), reverse=True)[:REVIEWS]
    return PlaceDetails(
        id=row.id,
        name=row.name,
        kind=row.kind,
        street_address=row.street,
        geo_point=format_point(row),
        hours=hours_text(row),
        closed_on=tuple(WEEKDAYS[day] for day in row.closed_on),
        open_now=is_open(row, town.now),
        closed_for_good=row.gone,
        free_spaces=free_spaces(town.seed, row, town.now),
        rating_tenths=10 * sum(review.stars for review in reviews) // len(reviews) if reviews else None,
        reviews=tuple(ReviewView(stars=one.stars, text=one.text, on=one.on) for one in latest),
        saved_in=tuple(own.name for own in town.lists if any(saved.place == place for saved in own.places)),
    )


@server.read()
def geocode_address(town: TownMap, address: Address) -> GeocodingResult:
    """Find what is at an address of the town, and its coordinates."""
    street = " ".join(address.split(",")[0].split())
    found = town.places.where(address=street.casefold())
    if not found:
        raise ToolError("address_not_found", f"Nothing in town has the address {street}; use search_places.")
    return GeocodingResult(
        id=found[0].id, name=found[0].name, street_address=found[0].street, geo_point=format_point(found[0])
    )


@lru_cache(maxsize=256)
def places_by_latitude(seed: int, count: int) -> tuple[Place, ...]:
    return tuple(sorted(places(seed, count), key=attrgetter("latitude")))


@lru_cache(maxsize=256)
def junctions_by_latitude(seed: int, count: int) -> tuple[Junction, ...]:
    return tuple(sorted(plan_town(seed, count).junctions, key=attrgetter("latitude")))


class Point(NamedTuple):
    """A point that a caller gave."""

    latitude: int
    longitude: int


@server.read()
def reverse_geocode(town: TownMap, point: PointText) -> Surroundings:
    """Find the place and the road nearest to a point."""
    latitude, longitude = point.split(",")
    here = Point(int(latitude), int(longitude))
    away, place = nearest(places_by_latitude(town.seed, len(town.places)), here)
    if away > FARTHEST:
        raise ToolError("outside_area", f"{point} is outside the town's map; give a point within {FARTHEST} metres.")
    _, junction = nearest(junctions_by_latitude(town.seed, len(town.places)), here)
    roads: list[Road] = [*town.roads.where(start=junction.id), *town.roads.where(end=junction.id)]
    road = min(roads, key=lambda row: (row.kind in ("path", "motorway"), row.length, row.id))
    return Surroundings(
        id=place.id,
        name=place.name,
        street_address=place.street,
        metres=away,
        road=road.id,
        road_name=road.name,
    )
