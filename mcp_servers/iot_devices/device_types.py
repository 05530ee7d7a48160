"""The kinds of devices and sensors there are, and what each of them can do."""

from __future__ import annotations

from typing import Literal, NamedTuple

DeviceKind = Literal["light", "plug", "thermostat", "speaker", "blinds", "camera", "sprinkler"]
SwitchableKind = Literal["light", "plug", "thermostat", "speaker", "camera", "sprinkler"]
Quantity = Literal["temperature", "humidity", "motion", "smoke"]
Unit = Literal["tenths of a degree", "percent", "movements", "ppm"]


class Kind(NamedTuple):
    """What a kind of device can do, and what its level counts.

    `cells` are the days its batteries last, none for a device on mains. What is `planned` can be scheduled and be
    a part of scenes.
    """

    unit: str = ""
    switched: bool = False
    levelled: bool = False
    planned: bool = True
    cells: int | None = None


KINDS: dict[DeviceKind, Kind] = {
    "light": Kind("percent", switched=True, levelled=True),
    "plug": Kind(switched=True),
    "thermostat": Kind("degrees", switched=True, levelled=True),
    "speaker": Kind("percent volume", switched=True, levelled=True),
    "blinds": Kind("percent open", levelled=True, cells=400),
    "camera": Kind(switched=True, planned=False, cells=180),
    "sprinkler": Kind("minutes", switched=True, levelled=True, planned=False),
}


class Sense(NamedTuple):
    """What a quantity is counted in, and the range that sensors have for it."""

    unit: Unit
    low: int
    high: int


SENSES: dict[Quantity, Sense] = {
    "temperature": Sense("tenths of a degree", -200, 500),
    "humidity": Sense("percent", 0, 100),
    "motion": Sense("movements", 0, 50),
    "smoke": Sense("ppm", 0, 500),
}
DOOR_CELLS, SENSOR_CELLS = 300, 700
