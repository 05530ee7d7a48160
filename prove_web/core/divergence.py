"""Divergence of two sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

NOTHING = object()


def find_divergence(first: Sequence[Any], second: Sequence[Any]) -> int | None:
    """Return the first index at which they differ, or the length of the shorter one; None where they are equal."""
    pairs = enumerate(zip_longest(first, second, fillvalue=NOTHING))
    return next((position for position, (one, other) in pairs if one != other), None)
