"""NaN and infinity in JSON: such values are stored as null, and a separate field records which value each one was."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

ODD = "!odd"  # the key in a step's metrics, as in {"loss": "NaN"}; no metric can have this name
WORDS = ("NaN", "Infinity", "-Infinity")


def encode_nonfinite(value: Any) -> Any:
    """Return NaN and infinities as words, and any other value unchanged."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def separate_nonfinite(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of a step with null for NaN and infinities, whose words are under ODD, if there are any."""
    words = {name: encode_nonfinite(value) for name, value in metrics.items()}
    odd = {name: word for name, word in words.items() if isinstance(word, str) and word in WORDS}
    return {**metrics, **dict.fromkeys(odd), ODD: odd} if odd else dict(metrics)


def finite(value: Any) -> Any:
    """Return the value with null in place of NaN and infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value
