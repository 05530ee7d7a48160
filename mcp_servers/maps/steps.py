"""A route told step by step: one step for each road of another name, and the ways to the first and from the last."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from operator import attrgetter

from .geometry import turn
from .routing import Route
from .state import Junction, JunctionId, Mode, Road, TownMap, TownPlace
from .traffic import on_foot, seconds
from .views import RouteStep


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
