"""Traffic, shortest routes and their steps, route checks that raise ToolError, and shared trips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby, pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import networkx as nx

from ..core import ToolError
from ..shared.people import EmailAddress
from ..shared.places import PlaceId
from .geometry import format_point, turn
from .state import Junction, JunctionId, Mode, RoadId, RoadKind, RoadSegment, TownMap, TownPlace, TripShare, TripShareId
from .town import plan_town
from .views import RouteStep, TripView

# Speed of roads by time of day; repeated calls give the same result.

RUSH_HOURS = (7, 8, 16, 17, 18)
BUSY_HOURS = (6, 9, 12, 13, 15, 19)
SLOW_HOURS = (*RUSH_HOURS, *BUSY_HOURS)
RUSH: dict[RoadKind, int] = {"motorway": 55, "main road": 50, "street": 75, "path": 100}
BUSY: dict[RoadKind, int] = {"motorway": 80, "main road": 75, "street": 90, "path": 100}


def flow(road: RoadSegment, moment: datetime) -> int:
    """Return the percentage of its speed a road allows: lower on weekdays at busy hours, slightly varied by road."""
    if moment.weekday() > 4 or moment.hour not in SLOW_HOURS:
        return 100
    usual = (RUSH if moment.hour in RUSH_HOURS else BUSY)[road.kind]
    return usual - (int(road.id[4:]) + 31 * moment.hour + 17 * moment.day) % 16


def seconds(road: RoadSegment, mode: Mode, moment: datetime | None) -> int:
    """Return the travel time of the road in seconds; without a moment, on an empty road."""
    if mode != "driving":
        return on_foot(road.length) if mode == "walking" else max(1, road.length * 6 // 25)
    percent = 100 if moment is None else flow(road, moment)
    return max(1, road.length * 360 // (road.speed * percent))


def on_foot(length: int) -> int:
    """Return the seconds that `length` metres take at five kilometres an hour."""
    return length * 18 // 25


# Shortest routes by time. The road graph is built once per town; closures apply through the edge weights.

Avoid = Literal["tolls", "motorways"]
Weight = Callable[[JunctionId, JunctionId, dict[str, Any]], int | None]
SECOND = 1 << 40
PATH_CACHE_SIZE, TIME_CACHE_SIZE = 1 << 14, 1 << 8


class Travel(NamedTuple):
    """How somebody goes: all that a way depends on but its ends. The hour is that of the traffic, if it counts."""

    mode: Mode
    hour: datetime | None
    closed: frozenset[RoadId]
    avoid: Avoid | None = None


class Route(NamedTuple):
    """The roads between two junctions or places; `metres` and `seconds` with the ways to and from them."""

    roads: tuple[RoadSegment, ...]
    metres: int
    seconds: int


@lru_cache(maxsize=64)
def network(seed: int, count: int) -> Any:
    """Return the road graph around `count` places. Edges lead both ways; `forward` is false against a one-way road.

    `tie` is a small number specific to each road that makes the choice between routes of equal time deterministic.
    """
    graph, plan = nx.DiGraph(), plan_town(seed, count)
    graph.add_nodes_from(junction.id for junction in plan.junctions)
    for road in plan.roads:
        tie = int.from_bytes(blake2b(road.id.encode(), digest_size=4).digest(), "big")
        graph.add_edge(road.start, road.end, road=road, forward=True, tie=tie)
        graph.add_edge(road.end, road.start, road=road, forward=not road.one_way, tie=tie)
    return nx.freeze(graph)


def graph_of(town: TownMap) -> Any:
    return network(town.seed, len(town.places))


def travel_at(town: TownMap, mode: Mode, moment: datetime, avoid: Avoid | None = None) -> Travel:
    """Return the conditions of a trip that starts at a moment; roads closed then are avoided, except on foot."""
    hour = moment.replace(minute=0, second=0) if mode == "driving" else None
    closed = [row.road for row in town.closures if row.active(moment)] if mode != "walking" else ()
    return Travel(mode, hour, frozenset(closed), avoid)


def weights(travel: Travel) -> Weight:
    """Return the weight function of the edges; its result is None for an edge that cannot be used."""
    mode, hour, closed, avoid = travel

    def weight(start: JunctionId, end: JunctionId, edge: dict[str, Any]) -> int | None:
        road: RoadSegment = edge["road"]
        if road.id in closed or not may_use(road, mode, edge["forward"]):
            return None
        if (avoid == "tolls" and road.toll) or (avoid == "motorways" and road.kind == "motorway"):
            return None
        return seconds(road, mode, hour) * SECOND + int(edge["tie"])

    return weight


def may_use(road: RoadSegment, mode: Mode, forward: bool) -> bool:
    """Return whether this mode of travel may use the road in this direction."""
    if mode == "walking":
        return road.kind != "motorway"
    return forward and road.kind != ("path" if mode == "driving" else "motorway")


def find_route(
    town: TownMap, origin: TownPlace, destination: TownPlace, mode: Mode, moment: datetime, avoid: Avoid | None = None
) -> Route | None:
    """Return the fastest route, or None if there is none."""
    travel = travel_at(town, mode, moment, avoid)
    way = way_between(town.seed, len(town.places), origin.junction, destination.junction, travel)
    if way is None:
        return None
    return Route(
        roads=way.roads,
        metres=way.metres + origin.access + destination.access,
        seconds=way.seconds + on_foot(origin.access) + on_foot(destination.access),
    )


@lru_cache(maxsize=PATH_CACHE_SIZE)
def way_between(seed: int, count: int, start: JunctionId, end: JunctionId, travel: Travel) -> Route | None:
    """Return the fastest way between two junctions of the town around `count` places, or None."""
    graph = network(seed, count)
    try:
        cost, nodes = nx.single_source_dijkstra(graph, start, target=end, weight=weights(travel))
    except nx.NetworkXNoPath:
        return None
    roads = tuple(graph.edges[pair]["road"] for pair in pairwise(nodes))
    return Route(roads, sum(road.length for road in roads), cost // SECOND)


def times_from(town: TownMap, origin: TownPlace, mode: Mode, moment: datetime, most: int) -> Mapping[JunctionId, int]:
    """Return the junctions that can be reached from a place within `most` seconds, with the seconds needed."""
    start = on_foot(origin.access)
    travel, left = travel_at(town, mode, moment), max(0, most - start + 1)
    return times_within(town.seed, len(town.places), origin.junction, travel, start, left)


@lru_cache(maxsize=TIME_CACHE_SIZE)
def times_within(
    seed: int, count: int, start: JunctionId, travel: Travel, spent: int, left: int
) -> Mapping[JunctionId, int]:
    """Return the junctions within `left` seconds of another, with the total seconds to each, `spent` included."""
    found = nx.single_source_dijkstra_path_length(
        network(seed, count), start, cutoff=left * SECOND, weight=weights(travel)
    )
    return MappingProxyType({junction: spent + cost // SECOND for junction, cost in found.items()})


# Route checks that raise ToolError: no way, too far, the same place, a place closed for good.

FARTHEST: dict[Mode, int] = {"walking": 6_000, "cycling": 15_000}


def require_route(
    town: TownMap, origin: PlaceId, destination: PlaceId, mode: Mode, moment: datetime, avoid: Avoid | None = None
) -> tuple[TownPlace, TownPlace, Route]:
    """Return the two places and the route between them. Raises ToolError when no route exists or makes sense."""
    start, end = town.places[origin], town.places[destination]
    if origin == destination:
        raise ToolError("same_place", f"Origin and destination are both {start.name}; name two different places.")
    if end.gone:
        raise ToolError("place_closed", f"{end.name} has closed for good; search for another {end.kind}.")
    route = find_route(town, start, end, mode, moment, avoid)
    if route is None:
        raise ToolError(
            "no_route", f"{mode.capitalize()} does not lead from {start.name} to {end.name} now; try walking."
        )
    farthest = FARTHEST.get(mode)
    if farthest is not None and route.metres > farthest:
        raise ToolError(
            f"too_far_for_{mode}",
            f"The way is {route.metres} metres, over the {farthest} that make sense {mode}; choose a faster mode.",
        )
    return start, end, route


# Steps of a route: one for each stretch of one road name, and the walks to the first and from the last road.


def minutes_of(seconds: int) -> int:
    """Return whole minutes, rounded up, at least one."""
    return max(1, -(-seconds // 60))


def steps_of(
    town: TownMap, start: TownPlace, end: TownPlace, route: Route, mode: Mode, moment: datetime
) -> tuple[RouteStep, ...]:
    """Return the steps of a route; their metres and seconds add up to the route's."""
    steps = [RouteStep(turn="start", name=start.name, metres=start.access, seconds=on_foot(start.access))]
    nodes = crossings(town, start.junction, route.roads)
    number = 0
    for name, found in groupby(route.roads, key=attrgetter("name")):
        roads, way = list(found), turn(*nodes[number - 1 : number + 2]) if number else "straight"
        length, time = sum([road.length for road in roads]), sum([seconds(road, mode, moment) for road in roads])
        steps.append(RouteStep(turn=way, name=name, metres=length, seconds=time, road=roads[0].id))
        number += len(roads)
    return (*steps, RouteStep(turn="arrive", name=end.name, metres=end.access, seconds=on_foot(end.access)))


def crossings(town: TownMap, start: JunctionId, roads: tuple[RoadSegment, ...]) -> list[Junction]:
    """Return the junctions that a way along these roads passes, including the first one."""
    found = [town.junctions[start]]
    for road in roads:
        found.append(town.junctions[road.end if road.start == found[-1].id else road.start])
    return found


# Progress of a shared trip at a moment: distance, position and status.


def new_trip(
    id: TripShareId,
    people: tuple[EmailAddress, EmailAddress],
    places: tuple[TownPlace, TownPlace],
    mode: Mode,
    started: datetime,
    route: Route,
) -> TripShare:
    """Return a trip of the first person that the second may follow; the route gives its arrival time."""
    return TripShare(
        id=id,
        sharer=people[0],
        viewer=people[1],
        origin=places[0].id,
        destination=places[1].id,
        mode=mode,
        started=started,
        arrives=started + timedelta(minutes=minutes_of(route.seconds)),
        metres=route.metres,
        roads=tuple(road.id for road in route.roads),
    )


def compute_travelled_distance(trip: TripShare, now: datetime) -> int:
    """Return the metres of a trip travelled so far at constant speed; travel stops when the trip is ended."""
    moment = min(now, trip.arrives, trip.ended or now)
    return (
        trip.metres
        * ((moment - trip.started) // timedelta(minutes=1))
        // ((trip.arrives - trip.started) // timedelta(minutes=1))
    )


def position(town: TownMap, trip: TripShare, done: int) -> str:
    """Return the coordinates of the last place or junction passed after `done` metres."""
    if done >= trip.metres:
        return format_point(town.places[trip.destination])
    origin = town.places[trip.origin]
    if done < origin.access:
        return format_point(origin)
    node, left = origin.junction, done - origin.access
    for road in map(town.roads.__getitem__, trip.roads):
        if left < road.length:
            break
        node, left = road.end if road.start == node else road.start, left - road.length
    return format_point(town.junctions[node])


def trip_view(town: TownMap, trip: TripShare) -> TripView:
    done, mine = compute_travelled_distance(trip, town.now), trip.sharer == town.me
    contact = trip.viewer if mine else trip.sharer
    return TripView.from_row(
        trip,
        mine=mine,
        contact=contact,
        with_name=town.contacts[contact].name,
        destination_name=town.places[trip.destination].name,
        status="ended" if trip.ended else "under way" if town.now < trip.arrives else "arrived",
        metres_left=trip.metres - done,
        geo_point=position(town, trip, done),
    )
