"""Traffic, shortest routes and their steps, refusals of routes, and shared trips."""

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

from ..kit import ToolError
from ..people import EmailAddress
from ..places import PlaceId
from .geometry import format_point, turn
from .state import Junction, JunctionId, Mode, Road, RoadId, RoadKind, TownMap, TownPlace, TripShare, TripShareId
from .town import plan_town
from .views import RouteStep, TripView

# How fast roads are at a time of day; the same whenever asked.

RUSH_HOURS = (7, 8, 16, 17, 18)
BUSY_HOURS = (6, 9, 12, 13, 15, 19)
SLOW_HOURS = (*RUSH_HOURS, *BUSY_HOURS)
RUSH: dict[RoadKind, int] = {"motorway": 55, "main road": 50, "street": 75, "path": 100}
BUSY: dict[RoadKind, int] = {"motorway": 80, "main road": 75, "street": 90, "path": 100}


def flow(road: Road, moment: datetime) -> int:
    """The percentage of its speed a road allows: less on weekdays in the rush hours, a little different by road."""
    if moment.weekday() > 4 or moment.hour not in SLOW_HOURS:
        return 100
    usual = (RUSH if moment.hour in RUSH_HOURS else BUSY)[road.kind]
    return usual - (int(road.id[4:]) + 31 * moment.hour + 17 * moment.day) % 16


def seconds(road: Road, mode: Mode, moment: datetime | None) -> int:
    """How long the road takes; without a moment, on an empty road."""
    if mode != "driving":
        return on_foot(road.length) if mode == "walking" else max(1, road.length * 6 // 25)
    percent = 100 if moment is None else flow(road, moment)
    return max(1, road.length * 360 // (road.speed * percent))


def on_foot(length: int) -> int:
    """How long so many metres take at five kilometres an hour, in seconds."""
    return length * 18 // 25


# Shortest routes by time on the road graph, which is built once per town; closures are laid over it by the weights.

Avoid = Literal["tolls", "motorways"]
Weight = Callable[[JunctionId, JunctionId, dict[str, Any]], int | None]
SECOND = 1 << 40
WAYS_KEPT, TIMES_KEPT = 1 << 14, 1 << 8


class Travel(NamedTuple):
    """How somebody goes: all that a way depends on but its ends. The hour is that of the traffic, if it counts."""

    mode: Mode
    hour: datetime | None
    closed: frozenset[RoadId]
    avoid: Avoid | None = None


class Route(NamedTuple):
    """The roads between two junctions or places; `metres` and `seconds` with the ways to and from them."""

    roads: tuple[Road, ...]
    metres: int
    seconds: int


@lru_cache(maxsize=64)
def network(seed: int, count: int) -> Any:
    """The road graph around so many places. Edges lead both ways; `forward` is false against a one-way road.

    `tie` is a small number of each road's own, so that of two routes of equal time always the same one is shorter.
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
    """How somebody goes who sets out at a moment: round the roads that are closed then, unless on foot."""
    hour = moment.replace(minute=0, second=0) if mode == "driving" else None
    closed = [row.road for row in town.closures if row.active(moment)] if mode != "walking" else ()
    return Travel(mode, hour, frozenset(closed), avoid)


def weights(travel: Travel) -> Weight:
    """What each edge costs; none when it cannot be used."""
    mode, hour, closed, avoid = travel

    def weight(start: JunctionId, end: JunctionId, edge: dict[str, Any]) -> int | None:
        road: Road = edge["road"]
        if road.id in closed or not may_use(road, mode, edge["forward"]):
            return None
        if (avoid == "tolls" and road.toll) or (avoid == "motorways" and road.kind == "motorway"):
            return None
        return seconds(road, mode, hour) * SECOND + int(edge["tie"])

    return weight


def may_use(road: Road, mode: Mode, forward: bool) -> bool:
    """Whether this kind of traveller may go along the road that way."""
    if mode == "walking":
        return road.kind != "motorway"
    return forward and road.kind != ("path" if mode == "driving" else "motorway")


def find_route(
    town: TownMap, origin: TownPlace, destination: TownPlace, mode: Mode, moment: datetime, avoid: Avoid | None = None
) -> Route | None:
    """The fastest route, or none."""
    travel = travel_at(town, mode, moment, avoid)
    way = way_between(town.seed, len(town.places), origin.junction, destination.junction, travel)
    if way is None:
        return None
    return Route(
        roads=way.roads,
        metres=way.metres + origin.access + destination.access,
        seconds=way.seconds + on_foot(origin.access) + on_foot(destination.access),
    )


@lru_cache(maxsize=WAYS_KEPT)
def way_between(seed: int, count: int, start: JunctionId, end: JunctionId, travel: Travel) -> Route | None:
    """The fastest way between two junctions of the town around so many places, or none."""
    graph = network(seed, count)
    try:
        cost, nodes = nx.single_source_dijkstra(graph, start, target=end, weight=weights(travel))
    except nx.NetworkXNoPath:
        return None
    roads = tuple(graph.edges[pair]["road"] for pair in pairwise(nodes))
    return Route(roads, sum(road.length for road in roads), cost // SECOND)


def times_from(town: TownMap, origin: TownPlace, mode: Mode, moment: datetime, most: int) -> Mapping[JunctionId, int]:
    """The junctions that can be reached from a place within so many seconds, with the seconds they take."""
    start = on_foot(origin.access)
    travel, left = travel_at(town, mode, moment), max(0, most - start + 1)
    return times_within(town.seed, len(town.places), origin.junction, travel, start, left)


@lru_cache(maxsize=TIMES_KEPT)
def times_within(
    seed: int, count: int, start: JunctionId, travel: Travel, spent: int, left: int
) -> Mapping[JunctionId, int]:
    """The junctions that can be reached from another within so many seconds, with the seconds spent there by then."""
    found = nx.single_source_dijkstra_path_length(
        network(seed, count), start, cutoff=left * SECOND, weight=weights(travel)
    )
    return MappingProxyType({junction: spent + cost // SECOND for junction, cost in found.items()})


# When the map refuses a route: no way, too far on foot, the same place, a place that is gone.

FARTHEST: dict[Mode, int] = {"walking": 6_000, "cycling": 15_000}


def require_route(
    town: TownMap, origin: PlaceId, destination: PlaceId, mode: Mode, moment: datetime, avoid: Avoid | None = None
) -> tuple[TownPlace, TownPlace, Route]:
    """The two places and the way between them. Raises ToolError when nobody should go or nobody can."""
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


# A route told step by step: one step for each road of another name, and the ways to the first and from the last.


def minutes_of(seconds: int) -> int:
    """Whole minutes, one at least."""
    return max(1, -(-seconds // 60))


def steps_of(
    town: TownMap, start: TownPlace, end: TownPlace, route: Route, mode: Mode, moment: datetime
) -> tuple[RouteStep, ...]:
    """The steps of a route; their metres and seconds add up to the route's."""
    steps = [RouteStep(turn="start", name=start.name, metres=start.access, seconds=on_foot(start.access))]
    nodes = crossings(town, start.junction, route.roads)
    number = 0
    for name, found in groupby(route.roads, key=attrgetter("name")):
        roads, way = list(found), turn(*nodes[number - 1 : number + 2]) if number else "straight"
        length, time = sum([road.length for road in roads]), sum([seconds(road, mode, moment) for road in roads])
        steps.append(RouteStep(turn=way, name=name, metres=length, seconds=time, road=roads[0].id))
        number += len(roads)
    return (*steps, RouteStep(turn="arrive", name=end.name, metres=end.access, seconds=on_foot(end.access)))


def crossings(town: TownMap, start: JunctionId, roads: tuple[Road, ...]) -> list[Junction]:
    """The junctions a way along these roads passes, the first one included."""
    found = [town.junctions[start]]
    for road in roads:
        found.append(town.junctions[road.end if road.start == found[-1].id else road.start])
    return found


# How a shared trip stands at a moment: how far it is, where, and whether it has ended.


def new_trip(
    id: TripShareId,
    people: tuple[EmailAddress, EmailAddress],
    places: tuple[TownPlace, TownPlace],
    mode: Mode,
    started: datetime,
    route: Route,
) -> TripShare:
    """A trip of the first person that the second may follow, which arrives when its route says."""
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


def travelled(trip: TripShare, now: datetime) -> int:
    """How many metres of a trip are done, as if it went at one speed; none after it was ended."""
    moment = min(now, trip.arrives, trip.ended or now)
    return (
        trip.metres
        * ((moment - trip.started) // timedelta(minutes=1))
        // ((trip.arrives - trip.started) // timedelta(minutes=1))
    )


def position(town: TownMap, trip: TripShare, done: int) -> str:
    """The last place or junction passed after so many metres."""
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
    done, mine = travelled(trip, town.now), trip.sharer == town.me
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
