"""Tools that find routes and share trips."""

from __future__ import annotations

from datetime import timedelta
from heapq import nlargest
from operator import attrgetter

from ..core import ToolError, minute_text
from .engine import find_route, minutes_of, new_trip, on_foot, require_route, seconds, steps_of, times_from, trip_view
from .server import (
    ROWS,
    AvoidParam,
    Departure,
    Destination,
    Destinations,
    KindParam,
    Limit,
    Origin,
    Origins,
    Travel,
    TripRef,
    UnderWayParam,
    Viewer,
    Within,
    server,
)
from .state import TownMap, TownPlace, is_open
from .views import Directions, ReachablePlace, TravelTime, TripView

# Tools that find routes: directions with steps, travel times between places, places within reach.

FURTHEST = timedelta(days=365)


@server.read()
def get_directions(
    town: TownMap,
    origin: Origin,
    destination: Destination,
    mode: Travel,
    avoid: AvoidParam = None,
    depart: Departure = None,
) -> Directions:
    """Get the fastest route between two places, step by step, in traffic."""
    moment = depart or town.now
    if moment < town.now:
        raise ToolError("departure_in_past", f"It is {minute_text(town.now)} now; choose a later departure.")
    if moment > town.now + FURTHEST:
        raise ToolError(
            "departure_too_late", f"Routes are planned until {minute_text(town.now + FURTHEST)}; leave earlier."
        )
    start, end, route = require_route(town, origin, destination, mode, moment, avoid)
    slow = sum(seconds(road, mode, moment) - seconds(road, mode, None) for road in route.roads)
    minutes = minutes_of(route.seconds)
    arrives = moment + timedelta(minutes=minutes)
    return Directions(
        metres=route.metres,
        minutes=minutes,
        delay=slow // 60,
        departs=moment,
        arrives=arrives,
        tolls=sum(road.toll for road in route.roads),
        open_on_arrival=is_open(end, arrives),
        steps=steps_of(town, start, end, route, mode, moment),
    )


@server.read()
def get_distance_matrix(
    town: TownMap, origins: Origins, destinations: Destinations, mode: Travel
) -> tuple[TravelTime, ...]:
    """Get the travel time from each origin to each destination, leaving now."""
    found: list[TravelTime] = []
    for start in [town.places[id] for id in dict.fromkeys(origins)]:
        for end in [town.places[id] for id in dict.fromkeys(destinations)]:
            route = None if start.id == end.id else find_route(town, start, end, mode, town.now)
            found.append(
                TravelTime(
                    origin=start.id,
                    destination=end.id,
                    metres=route.metres if route else None,
                    minutes=minutes_of(route.seconds) if route else None,
                )
            )
    return tuple(found)


@server.read()
def find_reachable_places(
    town: TownMap, origin: Origin, minutes: Within, mode: Travel, kind: KindParam = None, limit: Limit = None
) -> tuple[ReachablePlace, ...]:
    """Find the places that can be reached within some minutes, the nearest first."""
    start = town.places[origin]
    reached = times_from(town, start, mode, town.now, minutes * 60)
    found: list[tuple[int, TownPlace]] = []
    for row in town.places if kind is None else town.places.where(kind=kind):
        if row.junction not in reached or row.id == origin or row.gone:
            continue
        needed = minutes_of(reached[row.junction] + on_foot(row.access))
        if needed <= minutes:
            found.append((needed, row))
    found.sort(key=lambda pair: (pair[0], pair[1].id))
    return tuple(
        ReachablePlace.from_row(row, minutes=needed, open_on_arrival=is_open(row, town.now + timedelta(minutes=needed)))
        for needed, row in found[: limit or ROWS]
    )


# Tools that share trips: a contact may follow the user's position until the user ends the trip.


@server.read()
def list_shared_trips(town: TownMap, under_way: UnderWayParam = None, limit: Limit = None) -> tuple[TripView, ...]:
    """List the trips shared by you and with you. Newest first, with position and arrival."""
    rows = [row for row in town.trips if not (under_way and row.ended)]
    latest = nlargest(limit or ROWS, rows, key=attrgetter("started", "id"))
    return tuple([trip_view(town, row) for row in latest])


@server.write(idempotent=True)
def share_trip(town: TownMap, origin: Origin, destination: Destination, mode: Travel, viewer: Viewer) -> TripView:
    """Start a trip now and let a contact follow it until you end it."""
    if viewer == town.me:
        raise ToolError("yourself", f"{viewer} is you; name a contact who may follow.")
    person = town.contacts[viewer]
    for row in town.trips.where(sharer=town.me):
        if row.ended is None:
            raise ToolError(
                "trip_under_way", f"You are sharing {row.id} since {minute_text(row.started)}; end it first."
            )
    start, end, route = require_route(town, origin, destination, mode, town.now)
    trip = new_trip(town.trips.new_id(), (town.me, person.id), (start, end), mode, town.now, route)
    return trip_view(town, town.trips.put(trip))


@server.write(destructive=True, idempotent=True)
def end_shared_trip(town: TownMap, trip: TripRef) -> TripView:
    """End a trip that you share, for good."""
    row = town.trips[trip]
    if row.sharer != town.me:
        raise ToolError("not_your_trip", f"{trip} is shared by {row.sharer}; only they can end it.")
    if row.ended is not None:
        raise ToolError("trip_already_ended", f"{trip} ended at {minute_text(row.ended)}; nothing is left to do.")
    return trip_view(town, town.trips.change(trip, ended=town.now))
