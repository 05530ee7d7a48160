"""A route told step by step: one step for each road of another name, and the ways to the first and from the last."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

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
    for number, road in enumerate(route.roads):
        length, time = road.length, seconds(road, mode, moment)
        if number and road.name == route.roads[number - 1].name:
            last = steps[-1]
            steps[-1] = replace(last, metres=last.metres + length, seconds=last.seconds + time)
        else:
            way = turn(*nodes[number - 1 : number + 2]) if number else "straight"
            steps.append(RouteStep(turn=way, name=road.name, metres=length, seconds=time, road=road.id))
    return (*steps, RouteStep(turn="arrive", name=end.name, metres=end.access, seconds=on_foot(end.access)))


def crossings(town: TownMap, start: JunctionId, roads: tuple[Road, ...]) -> list[Junction]:
    """The junctions a way along these roads passes, the first one included."""
    found = [town.junctions[start]]
    for road in roads:
        found.append(town.junctions[road.end if road.start == found[-1].id else road.start])
    return found
