"""Distances and turns on the map, in whole metres: no floats, so that every machine finds the same."""

from __future__ import annotations

from math import cos, isqrt, radians
from typing import Literal, Protocol

METRES_PER_DEGREE = 111_320
Turn = Literal["left", "right", "straight"]


class Point(Protocol):
    """Something with a place on the map, in micro-degrees."""

    @property
    def latitude(self) -> int: ...

    @property
    def longitude(self) -> int: ...


def vector(one: Point, other: Point) -> tuple[int, int]:
    """How far to the east and to the north the other point lies, in millimetres; good for the size of a town."""
    narrow = round(cos(radians(one.latitude // 100_000 / 10)) * 1000)
    east = (other.longitude - one.longitude) * METRES_PER_DEGREE * narrow // 1_000_000
    return east, (other.latitude - one.latitude) * METRES_PER_DEGREE // 1000


def metres(one: Point, other: Point) -> int:
    """The straight line between two points."""
    east, north = vector(one, other)
    return isqrt(east * east + north * north) // 1000


def turn(one: Point, middle: Point, other: Point) -> Turn:
    """Which way to go at the middle point."""
    (a, b), (c, d) = vector(one, middle), vector(middle, other)
    cross, along = a * d - b * c, a * c + b * d
    if abs(cross) * 2 < along:
        return "straight"
    return "left" if cross > 0 else "right"


def spoken(point: Point) -> str:
    """A point as text: latitude and longitude in micro-degrees."""
    return f"{point.latitude},{point.longitude}"
