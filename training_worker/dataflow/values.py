"""Equality of JSON values by meaning: different spellings of the same value are equal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from unicodedata import normalize

from ..core.trajectory import Json
from .provenance import instant_of

RELATIVE_TOLERANCE = Fraction(1, 10**9)


def equal(a: Json, b: Json) -> bool:
    """Return whether two values are equal as JSON: numbers within 1e-9 relative, strings in NFC and stripped.

    RFC 3339 date-times are equal if they name the same instant, with any offsets. A boolean equals no number. Lists are
    compared element by element, objects key by key in any order.
    """
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, str) and isinstance(b, str):
        return a == b or normalize_text(a) == normalize_text(b)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return close(a, b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and not find_differing_keys(a, b)
    return a is None and b is None


def normalize_text(text: str) -> str | datetime:
    """Return the meaning of a string: the instant of a date-time, or the text in NFC and stripped."""
    text = normalize("NFC", text).strip()
    return instant_of(text) or text


def close(a: float, b: float) -> bool:
    """Return whether numbers differ by at most 1e-9 of the larger one.

    The arithmetic is exact, because an integer may be too large for a float.
    """
    if a == b:
        return True
    if not (finite(a) and finite(b)):
        return False
    x, y = Fraction(a), Fraction(b)
    return abs(x - y) <= RELATIVE_TOLERANCE * max(abs(x), abs(y))


def finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def find_differing_keys(expected: Mapping[str, Json], given: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the expected keys that are absent or have another value, in the expected order."""
    return tuple(key for key, value in expected.items() if key not in given or not equal(value, given[key]))
