"""Shortest routes by time on the road graph, which is built once per town; closures are laid over it by the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Literal

import networkx as nx

from .state import JunctionId, Mode, Road, RoadId, TownMap, TownPlace
from .town import plan_town
from .traffic import on_foot, seconds

Avoid = Literal["tolls", "motorways"]
Weight = Callable[[JunctionId, JunctionId, dict[str, Any]], int | None]
SECOND = 1 << 40


@dataclass(frozen=True)
class Route:
    """The roads between the junctions of two places; `metres` and `seconds` with the ways to and from them."""

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


def closed_roads(town: TownMap, moment: datetime) -> dict[RoadId, None]:
    """The roads that are closed at a moment."""
    return {row.road: None for row in town.closures if row.active(moment)}


def weights(town: TownMap, mode: Mode, moment: datetime, avoid: Avoid | None = None) -> Weight:
    """What each edge costs at a moment; none when it cannot be used."""
    closed = {} if mode == "walking" else closed_roads(town, moment)

    def weight(start: JunctionId, end: JunctionId, edge: dict[str, Any]) -> int | None:
        road: Road = edge["road"]
        if road.id in closed or not may_use(road, mode, edge["forward"]):
            return None
        if (avoid == "tolls" and road.toll) or (avoid == "motorways" and road.kind == "motorway"):
            return None
        return seconds(road, mode, moment) * SECOND + int(edge["tie"])

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
    graph, weight = graph_of(town), weights(town, mode, moment, avoid)
    try:
        cost, nodes = nx.single_source_dijkstra(graph, origin.junction, target=destination.junction, weight=weight)
    except nx.NetworkXNoPath:
        return None
    roads = tuple(graph.edges[pair]["road"] for pair in pairwise(nodes))
    access = origin.access + destination.access
    return Route(
        roads=roads,
        metres=access + sum(road.length for road in roads),
        seconds=cost // SECOND + on_foot(origin.access) + on_foot(destination.access),
    )


def times_from(town: TownMap, origin: TownPlace, mode: Mode, moment: datetime, most: int) -> dict[JunctionId, int]:
    """The junctions that can be reached from a place within so many seconds, with the seconds they take."""
    start = on_foot(origin.access)
    found = nx.single_source_dijkstra_path_length(
        graph_of(town), origin.junction, cutoff=max(0, most - start + 1) * SECOND, weight=weights(town, mode, moment)
    )
    return {junction: start + cost // SECOND for junction, cost in found.items()}
