"""Tools for places, lists of places and road closures."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache
from heapq import nsmallest
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from ..core import ToolError, minute_text
from ..shared.places import Place, places
from .geometry import find_nearest_row, format_point, metres
from .server import (
    ROWS,
    Address,
    ClosureRef,
    Hours,
    KindParam,
    Label,
    Limit,
    ListName,
    ListNameParam,
    ListRef,
    NearParam,
    OpenAt,
    PlaceRef,
    PointText,
    Query,
    Reason,
    RoadRef,
    server,
)
from .state import (
    WEEKDAYS,
    Junction,
    PlaceList,
    RoadClosure,
    RoadSegment,
    SavedPlace,
    TownMap,
    TownPlace,
    free_spaces,
    hours_text,
    is_open,
    words_of,
)
from .town import plan_town
from .views import ClosureView, GeocodingResult, PlaceDetails, PlaceListView, PlaceView, ReviewView, Surroundings

# Tools for lists of saved places.

MOST_LISTS = 20
MOST_PLACES = 20


def list_view(row: PlaceList, rows: int = ROWS) -> PlaceListView:
    return PlaceListView(id=row.id, name=row.name, count=len(row.places), places=row.places[::-1][:rows])


@server.read()
def list_place_lists(town: TownMap, name: ListNameParam = None, limit: Limit = None) -> tuple[PlaceListView, ...]:
    """List your lists of saved places with their latest places."""
    wanted, most = (name or "").casefold(), limit or ROWS
    rows = [row for row in town.lists if wanted in row.name.casefold()]
    return tuple([list_view(row, most) for row in rows[:most]])


@server.write(idempotent=True)
def create_place_list(town: TownMap, name: ListName) -> PlaceListView:
    """Create an empty list for saved places."""
    name = " ".join(name.split())
    for row in town.lists:
        if row.name.casefold() == name.casefold():
            raise ToolError("list_exists", f"{row.id} is already called {row.name}; use it or choose another name.")
    if len(town.lists) >= MOST_LISTS:
        raise ToolError("too_many_lists", f"You have {MOST_LISTS} lists, which is as many as there can be; use one.")
    return list_view(town.lists.put(PlaceList(id=town.lists.new_id(), name=name)))


@server.write(idempotent=True)
def save_place(town: TownMap, list: ListRef, place: PlaceRef, label: Label = None) -> PlaceListView:
    """Save a place in one of your lists, with your own label."""
    row, found = town.lists[list], town.places[place]
    if any(saved.place == place for saved in row.places):
        raise ToolError("already_saved", f"{found.name} is in the list {row.name} already; nothing is left to do.")
    if found.gone:
        raise ToolError("place_closed", f"{found.name} has closed for good; search for another {found.kind}.")
    if len(row.places) >= MOST_PLACES:
        raise ToolError("list_full", f"The list {row.name} has {MOST_PLACES} places; use or create another list.")
    saved = SavedPlace(place=place, name=found.name, label=label)
    return list_view(town.lists.change(list, places=(*row.places, saved)))


# Tools for road closures: listing them, reporting one, withdrawing a report.

MOST_REPORTS = 5


def closure_view(town: TownMap, row: RoadClosure) -> ClosureView:
    return ClosureView.from_row(row, road_name=town.roads[row.road].name, mine=row.reporter == town.me)


@server.read()
def list_road_closures(town: TownMap, near: NearParam = None, limit: Limit = None) -> tuple[ClosureView, ...]:
    """List the roads that are closed now: your own reports, then the latest."""
    rows, me = [row for row in reversed(list(town.closures)) if row.active(town.now)], town.me
    if near is None:
        rows.sort(key=lambda row: row.reporter != me)
    else:
        middle = town.places[near]
        rows.sort(key=lambda row: (metres(middle, town.junctions[town.roads[row.road].start]), row.id))
    return tuple([closure_view(town, row) for row in rows[: limit or ROWS]])


@server.write(idempotent=True)
def report_road_closure(town: TownMap, road: RoadRef, reason: Reason, hours: Hours) -> ClosureView:
    """Report a road as closed to all but walkers, so that routes avoid it."""
    row = town.roads[road]
    if row.kind == "path":
        raise ToolError("path_not_closable", f"{row.name} is a path; only roads for cars can be reported.")
    for known in town.closures.where(road=road):
        if known.active(town.now):
            raise ToolError(
                "closure_already_reported",
                f"{known.id} has {row.name} closed until {minute_text(known.until)}; nothing is left to do.",
            )
    mine = [known for known in town.closures if known.reporter == town.me and known.active(town.now)]
    if len(mine) >= MOST_REPORTS:
        raise ToolError("too_many_reports", f"You have {MOST_REPORTS} open reports; withdraw one first.")
    until = town.now + timedelta(hours=hours)
    closure = RoadClosure(
        id=town.closures.new_id(), road=road, reason=reason, reporter=town.me, since=town.now, until=until
    )
    return closure_view(town, town.closures.put(closure))


@server.write(destructive=True, idempotent=True)
def withdraw_road_closure(town: TownMap, closure: ClosureRef) -> ClosureView:
    """Withdraw a closure that you reported, before it ends by itself."""
    row = town.closures[closure]
    if row.reporter != town.me:
        raise ToolError("not_your_report", f"{closure} was not reported by you; it ends at {minute_text(row.until)}.")
    if not row.active(town.now):
        raise ToolError("closure_over", f"{closure} ended at {minute_text(row.until)}; nothing is left to do.")
    return closure_view(town, town.closures.remove(closure))


# Tools that look up places: search, details, addresses and coordinates.

FARTHEST = 5_000
REVIEWS = 2


@server.read()
def search_places(
    town: TownMap,
    query: Query = None,
    kind: KindParam = None,
    near: NearParam = None,
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
    return PlaceView.from_row(
        row,
        street_address=row.street,
        open_now=is_open(row, town.now),
        metres=None if middle is None else metres(middle, row),
    )


@server.read()
def get_place_details(town: TownMap, place: PlaceRef) -> PlaceDetails:
    """Get a place with its address, opening hours, free spaces, rating and reviews."""
    row, reviews = town.places[place], town.reviews.where(place=place)
    latest = sorted(reviews, key=lambda review: (review.on, review.id), reverse=True)[:REVIEWS]
    return PlaceDetails.from_row(
        row,
        street_address=row.street,
        geo_point=format_point(row),
        hours=hours_text(row),
        closed_on=tuple(WEEKDAYS[day] for day in row.closed_on),
        open_now=is_open(row, town.now),
        closed_for_good=row.gone,
        free_spaces=free_spaces(town.seed, row, town.now),
        rating_tenths=10 * sum(review.stars for review in reviews) // len(reviews) if reviews else None,
        reviews=tuple(ReviewView.from_row(one) for one in latest),
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
    away, place = find_nearest_row(places_by_latitude(town.seed, len(town.places)), here)
    if away > FARTHEST:
        raise ToolError("outside_area", f"{point} is outside the town's map; give a point within {FARTHEST} metres.")
    _, junction = find_nearest_row(junctions_by_latitude(town.seed, len(town.places)), here)
    roads: list[RoadSegment] = [*town.roads.where(start=junction.id), *town.roads.where(end=junction.id)]
    road = min(roads, key=lambda row: (row.kind in ("path", "motorway"), row.length, row.id))
    return Surroundings(
        id=place.id,
        name=place.name,
        street_address=place.street,
        metres=away,
        road=road.id,
        road_name=road.name,
    )
