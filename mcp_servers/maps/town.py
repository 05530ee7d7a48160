"""Road plan of a town, derived from its places: a grid of main roads and streets, a motorway, paths and parks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

from ..core import Draw
from ..core.rng import derive_id
from ..shared.fake_text import FakeText
from ..shared.places import Place, places, town
from .geometry import Point, metres
from .state import Junction, JunctionId, RoadId, RoadKind, RoadSegment

SPEEDS: dict[RoadKind, int] = {"motorway": 100, "main road": 50, "street": 30, "path": 5}
MOST_LINES = 26
Spot = tuple[int, int]


class Plan(NamedTuple):
    """The road graph of a town, and the junction each of its places lies at."""

    junctions: tuple[Junction, ...]
    roads: tuple[RoadSegment, ...]
    nearest: tuple[JunctionId, ...]


@lru_cache(maxsize=256)
def plan_town(seed: int, count: int) -> Plan:
    """Return the road plan around `count` places of this world."""
    return Planner(seed, count).plan()


class Planner:
    """Lays out the roads of one town. Spots are rows and columns of a square grid with `lines` each way."""

    def __init__(self, seed: int, count: int):
        self.seed, self.draw = seed, Draw("roads", seed, count)
        self.places, self.city = places(seed, count), town(seed)
        self.lines = min(isqrt(count), MOST_LINES)
        self.far = 25_000 + 5_000 * min((count - 1) // 40, 12)
        self.step = 2 * self.far // (self.lines - 1)
        self.width = 6 if 2 * self.lines * self.lines > 1_200 else 4
        self.words = FakeText(self.draw)
        self.taken: dict[str, None] = {}
        self.grid: dict[Spot, Junction] = {}
        self.roads: list[RoadSegment] = []
        self.names: dict[str, None] = {}

    def plan(self) -> Plan:
        for row in range(self.lines):
            for column in range(self.lines):
                self.grid[row, column] = self.junction(f"{row}/{column}", self.draw_crossing(row, column))
        for number in range(self.lines):
            self.line([(number, column) for column in range(self.lines)], number)
            self.line([(row, number) for row in range(self.lines)], number)
        self.motorway()
        self.shortcuts()
        junctions, nearest = list(self.grid.values()), list[JunctionId]()
        for place in self.places:
            crossing = self.find_nearest_junction(place)
            if place.kind == "park":
                gate = self.junction(place.id, place)
                junctions.append(gate)
                self.add_road(f"{place.name} Path", "path", crossing, gate)
                crossing = gate
            nearest.append(crossing.id)
        self.name_streets(nearest)
        return Plan(tuple(junctions), tuple(self.roads), tuple(nearest))

    def id(self, prefix: str, mark: object) -> str:
        id, _ = derive_id(prefix, self.width, self.seed, f"seed/{mark}", self.taken)
        self.taken[id] = None
        return id

    def draw_crossing(self, row: int, column: int) -> Spot:
        """Return where two lines of the grid meet, with a random shift."""
        shift = self.step // 6
        return (
            self.city.latitude - self.far + row * self.step + self.draw.integer(-shift, shift),
            self.city.longitude - self.far + column * self.step + self.draw.integer(-shift, shift),
        )

    def junction(self, mark: str, at: Spot | Place) -> Junction:
        latitude, longitude = (at.latitude, at.longitude) if isinstance(at, Place) else at
        return Junction(id=JunctionId(self.id("JCT", mark)), latitude=latitude, longitude=longitude)

    def add_road(
        self, name: str, kind: RoadKind, start: Junction, end: Junction, one_way: bool = False, toll: bool = False
    ) -> None:
        """Add a road, up to a seventh longer than the straight line."""
        self.roads.append(
            RoadSegment(
                id=RoadId(self.id("ROD", f"{start.id}/{end.id}")),
                name=name,
                kind=kind,
                start=start.id,
                end=end.id,
                length=max(1, metres(start, end) * (100 + self.draw.integer(0, 14)) // 100),
                speed=SPEEDS[kind],
                one_way=one_way,
                toll=toll,
            )
        )

    def line(self, spots: list[Spot], number: int) -> None:
        """Add the roads of a grid row or column: each third is a main road, and one of the two between is one-way.

        The first and the last are main roads, so that one-way streets lead from one two-way road to another.
        """
        main = number % 3 == 0 or number == self.lines - 1
        one_way = not main and number % 3 == 1
        if one_way and number // 3 % 2:
            spots = spots[::-1]
        name = self.draw_street_name()
        for start, end in pairwise(spots):
            self.add_road(name, "main road" if main else "street", self.grid[start], self.grid[end], one_way)

    def draw_street_name(self) -> str:
        while True:
            name = self.words.text("street_name")
            if name not in self.names:
                self.names[name] = None
                return name

    def motorway(self) -> None:
        """Add a motorway from west to east, with an exit at each third crossing; every other section costs a toll."""
        row = self.lines // 2
        exits = [self.grid[row, column] for column in range(0, self.lines, 3)]
        name = f"Motorway {self.draw.integer(1, 99)}"
        for number, (start, end) in enumerate(pairwise(exits)):
            self.add_road(name, "motorway", start, end, toll=number % 2 == 0)

    def shortcuts(self) -> None:
        """Add footpaths across some blocks."""
        for row in range(self.lines - 1):
            for column in range(self.lines - 1):
                if self.draw.chance(0.15):
                    self.add_road("Footpath", "path", self.grid[row, column], self.grid[row + 1, column + 1])

    def find_nearest_junction(self, place: Point) -> Junction:
        """Return the grid crossing nearest to a place."""
        row = (place.latitude - self.city.latitude + self.far + self.step // 2) // self.step
        column = (place.longitude - self.city.longitude + self.far + self.step // 2) // self.step
        around = [self.grid[spot] for spot in self.list_spots_around(row, column) if spot in self.grid]
        return min(around, key=lambda crossing: (metres(place, crossing), crossing.id))

    def list_spots_around(self, row: int, column: int) -> Iterator[Spot]:
        for spot in range(9):
            yield row - 1 + spot // 3, column - 1 + spot % 3

    def name_streets(self, nearest: list[JunctionId]) -> None:
        """Name a street at each place's junction after the place's address, if an unnamed one is left there."""
        at: dict[JunctionId, list[int]] = {}
        for number, road in enumerate(self.roads):
            if road.kind == "street":
                at.setdefault(road.start, []).append(number)
                at.setdefault(road.end, []).append(number)
        named: dict[int, str] = {}
        for place, junction in zip(self.places, nearest, strict=True):
            free = [number for number in at.get(junction, ()) if number not in named]
            if free:
                named[free[0]] = place.street.split(" ", 1)[1]
        self.roads = [rename_road(road, named.get(number)) for number, road in enumerate(self.roads)]


def rename_road(road: RoadSegment, name: str | None) -> RoadSegment:
    """Return the road, renamed if a name is given."""
    return replace(road, name=name or road.name)
