"""Distances and turns on the map, in whole metres and not floats, so that every machine gets the same results."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from math import cos, isqrt, radians
from operator import attrgetter
from typing import Any, Literal, Protocol, TypeVar

METRES_PER_DEGREE = 111_320
Row = TypeVar("Row", bound=Any)
Turn = Literal["left", "right", "straight"]


class Point(Protocol):
    """Something with a place on the map, in micro-degrees."""

    @property
    def latitude(self) -> int: ...

    @property
    def longitude(self) -> int: ...


def vector(one: Point, other: Point) -> tuple[int, int]:
    """Return how far east and north the other point lies, in millimetres; accurate enough for a town."""
    narrow = compute_cosine(one.latitude // 100_000)
    east = (other.longitude - one.longitude) * METRES_PER_DEGREE * narrow // 1_000_000
    return east, (other.latitude - one.latitude) * METRES_PER_DEGREE // 1000


@lru_cache(maxsize=2048)
def compute_cosine(latitude: int) -> int:
    """Return the cosine, in thousandths, of a latitude given in tenths of a degree."""
    return round(cos(radians(latitude / 10)) * 1000)


def metres(one: Point, other: Point) -> int:
    """Return the straight-line distance between two points in metres."""
    east, north = vector(one, other)
    return isqrt(east * east + north * north) // 1000


def find_nearest_row(rows: Sequence[Row], here: Point) -> tuple[int, Row]:
    """Return the nearest row (the first by id among equals) after its distance; `rows` are sorted by latitude."""
    start = bisect_left(rows, here.latitude, key=attrgetter("latitude"))
    found: list[tuple[int, str, Row]] = []
    for way in (islice(rows, start, None), reversed(rows[:start])):
        for row in way:
            north = abs(row.latitude - here.latitude) * METRES_PER_DEGREE // 1_000_000
            if found and north > found[0][0]:
                break
            found = [min([*found, (metres(here, row), row.id, row)])]
    return found[0][0], found[0][2]


def turn(one: Point, middle: Point, other: Point) -> Turn:
    """Return the turn to take at the middle point."""
    (a, b), (c, d) = vector(one, middle), vector(middle, other)
    cross, along = a * d - b * c, a * c + b * d
    if abs(cross) * 2 < along:
        return "straight"
    return "left" if cross > 0 else "right"


def format_point(point: Point) -> str:
    """Format a point as latitude and longitude in micro-degrees."""
    return f"{point.latitude},{point.longitude}"
