"""Invariants of the map: they hold in every state that a session can reach."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from .engine import graph_of
from .geometry import metres
from .server import server
from .state import TownMap, words_of
from .tools_places import MOST_LISTS, MOST_PLACES


@server.invariant
def roads_join_junctions(town: TownMap) -> bool:
    """A road joins two different junctions, no two roads the same ones, and none is shorter than the straight line."""
    pairs = [tuple(sorted((road.start, road.end))) for road in town.roads]
    return len(dict.fromkeys(pairs)) == len(pairs) and all(
        road.start != road.end
        and road.length >= max(1, metres(town.junctions[road.start], town.junctions[road.end]))
        and road.speed > 0
        for road in town.roads
    )


@server.invariant
def the_graph_is_that_of_the_roads(town: TownMap) -> bool:
    """Each road is an edge both ways, forward in both unless it is one-way; the graph has no others."""
    graph = graph_of(town)
    if graph.number_of_nodes() != len(town.junctions) or graph.number_of_edges() != 2 * len(town.roads):
        return False
    for road in town.roads:
        there, back = graph.edges[road.start, road.end], graph.edges[road.end, road.start]
        if there["road"] != road or back["road"] != road or not there["forward"] or back["forward"] == road.one_way:
            return False
    return True


@server.invariant
def places_lie_at_junctions(town: TownMap) -> bool:
    """Every place is as far from its junction as its access says, and opens before it closes."""
    return all(
        place.access == metres(place, town.junctions[place.junction])
        and (place.opens is None) == (place.closes is None)
        and (place.opens or 0) < (place.closes or 1) <= 24 * 60
        for place in town.places
    )


@server.invariant
def a_road_is_closed_once_at_a_time(town: TownMap) -> bool:
    """Closures are of roads for cars, begin before they end, and no two of one road overlap."""
    by_road: dict[str, list[tuple[datetime, datetime]]] = {}
    for row in town.closures:
        if row.road not in town.roads or town.roads[row.road].kind == "path" or row.since >= row.until:
            return False
        if row.reporter not in (None, town.me) or row.since > town.now:
            return False
        by_road.setdefault(row.road, []).append((row.since, row.until))
    spans = [sorted(rows) for rows in by_road.values()]
    return all(one[1] <= other[0] for rows in spans for one, other in pairwise(rows))


@server.invariant
def lists_hold_known_places_once(town: TownMap) -> bool:
    """List names are unique; a list holds each known place at most once, under its name, up to the limit."""
    names = [row.name.casefold() for row in town.lists]
    if len(dict.fromkeys(names)) != len(names) or len(names) > MOST_LISTS:
        return False
    for row in town.lists:
        ids = [saved.place for saved in row.places]
        if len(dict.fromkeys(ids)) != len(ids) or len(ids) > MOST_PLACES or not words_of(row.name):
            return False
        if any(town.places[saved.place].name != saved.name or town.places[saved.place].gone for saved in row.places):
            return False
    return True


@server.invariant
def a_trip_follows_roads_from_its_origin_to_its_destination(town: TownMap) -> bool:
    """The roads of a trip lead on from each other, and with the ways to and from them are as long as the trip."""
    for trip in town.trips:
        origin, destination = town.places[trip.origin], town.places[trip.destination]
        here, length = origin.junction, origin.access + destination.access
        for id in trip.roads:
            road = town.roads[id]
            if here not in (road.start, road.end):
                return False
            backwards = here == road.end
            if backwards and road.one_way and trip.mode != "walking":
                return False
            here, length = road.start if backwards else road.end, length + road.length
        if here != destination.junction or length != trip.metres:
            return False
    return True


@server.invariant
def nobody_shares_two_trips_at_once(town: TownMap) -> bool:
    """The user shares one trip at most at a time, with a contact; a trip ends after it began."""
    open_trips = [trip for trip in town.trips if trip.sharer == town.me and trip.ended is None]
    return len(open_trips) <= 1 and all(
        (trip.sharer == town.me) != (trip.viewer == town.me)
        and (trip.viewer if trip.sharer == town.me else trip.sharer) in town.contacts
        and trip.started < trip.arrives
        and (trip.ended is None or trip.started <= trip.ended)
        and trip.started <= town.now
        for trip in town.trips
    )


@server.invariant
def reviews_are_of_places_by_people(town: TownMap) -> bool:
    """A review gives one to five stars to a place of the town, in the past."""
    return all(
        1 <= row.stars <= 5 and row.place in town.places and row.author in town.contacts and row.on < town.now.date()
        for row in town.reviews
    )
