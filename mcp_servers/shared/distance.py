"""Distances between places of a town, in whole metres."""

from __future__ import annotations

from math import isqrt

from .places import Place

METRES_PER_DEGREE = 111_320


def metres(one: Place, other: Place) -> int:
    """Return the straight-line distance between two places of a town, computed on a flat map in integers."""
    degrees = abs(one.latitude) // 1_000_000
    north = abs(one.latitude - other.latitude) * METRES_PER_DEGREE // 1_000_000
    east = abs(one.longitude - other.longitude) * METRES_PER_DEGREE // 1_000_000
    return isqrt(north**2 + (east * approximate_cosine(degrees) // 1_000) ** 2)


def approximate_cosine(degrees: int) -> int:
    """Return the cosine of a latitude in thousandths, by Bhaskara's formula."""
    return 1_000 * (32_400 - 4 * degrees**2) // (32_400 + degrees**2)
