"""When two JSON values are the same value: spelling may differ, meaning may not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from unicodedata import normalize

from ..provenance import instant_of
from ..trajectory import Json

RELATIVE_TOLERANCE = Fraction(1, 10**9)


def equal(a: Json, b: Json) -> bool:
    """Equality as JSON: numbers within 1e-9 relative, strings after NFC and without outer white space.

    RFC 3339 date-times are equal when they name the same instant, whatever their offsets. A boolean equals no
    number. Lists are equal element by element, objects key by key in any order.
    """
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, str) and isinstance(b, str):
        return a == b or meaning(a) == meaning(b)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return close(a, b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and not differing(a, b)
    return a is None and b is None


def meaning(text: str) -> str | datetime:
    """What a string says: the instant of a date-time, or the text after NFC and without outer white space."""
    text = normalize("NFC", text).strip()
    return instant_of(text) or text


def close(a: float, b: float) -> bool:
    """Within 1e-9 of the larger one; exact arithmetic, because an integer may be too large for a float."""
    if a == b:
        return True
    if not (finite(a) and finite(b)):
        return False
    x, y = Fraction(a), Fraction(b)
    return abs(x - y) <= RELATIVE_TOLERANCE * max(abs(x), abs(y))


def finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def differing(expected: Mapping[str, Json], given: Mapping[str, Json]) -> tuple[str, ...]:
    """The expected keys that are absent or hold another value, in the order expected."""
    return tuple(key for key, value in expected.items() if key not in given or not equal(value, given[key]))
