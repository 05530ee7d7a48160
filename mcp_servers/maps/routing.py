"""Shortest routes by time on the road graph, which is built once per town; closures are laid over it by the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import networkx as nx

from .state import JunctionId, Mode, Road, RoadId, TownMap, TownPlace
from .town import plan_town
from .traffic import on_foot, seconds

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
