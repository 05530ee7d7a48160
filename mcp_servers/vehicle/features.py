"""The lights, wipers and heatings of a car, how far each can be turned up, and which need the engine."""

from __future__ import annotations

from typing import Literal, NamedTuple

FeatureName = Literal[
    "headlights", "fog lights", "hazard lights", "interior light", "wipers", "rear wiper", "defroster", "seat heating"
]


class Feature(NamedTuple):
    """The highest level of a feature, and whether it works with the engine running only."""

    highest: int
    needs_engine: bool


FEATURES: dict[FeatureName, Feature] = {
    "headlights": Feature(2, False),
    "fog lights": Feature(1, False),
    "hazard lights": Feature(1, False),
    "interior light": Feature(1, False),
    "wipers": Feature(3, True),
    "rear wiper": Feature(1, True),
    "defroster": Feature(1, True),
    "seat heating": Feature(3, True),
}
