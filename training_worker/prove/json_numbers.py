"""Numbers that are none: what JSON has no word for is told as null, and beside it which of the values were what."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

ODD = "!odd"  # in what is told of a step: {"loss": "NaN"}; no metric can be called so
WORDS = ("NaN", "Infinity", "-Infinity")


def spelled(value: Any) -> Any:
    """A number that is none as its word; everything else as it is."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def apart(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a step with null for each that is no number, and under ODD what these are, if any."""
    words = {name: spelled(value) for name, value in metrics.items()}
    odd = {name: word for name, word in words.items() if isinstance(word, str) and word in WORDS}
    return {**metrics, **dict.fromkeys(odd), ODD: odd} if odd else dict(metrics)


def finite(value: Any) -> Any:
    """The same value with null for what JSON has no number for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value
