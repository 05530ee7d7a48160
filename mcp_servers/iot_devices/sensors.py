"""What the sensors measure: whole numbers that follow from the seed, the sensor, the clock and what is switched on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from ..kit import Draw
from .clock import cells_left, current, minutes_between
from .device_types import SENSES, SENSOR_CELLS, Quantity
from .schemas import HomeReading
from .state import Home, HomeSensor

EPOCH = datetime(2026, 1, 1)


def reading(home: Home, row: HomeSensor) -> HomeReading:
    """What a sensor measures now, while its battery lasts."""
    works = cells_left(home, row.cells_since, SENSOR_CELLS) > 0
    value = MEASURES[row.quantity](home, row) if works else None
    return HomeReading(id=row.id, name=row.name, quantity=row.quantity, value=value, unit=SENSES[row.quantity].unit)


def noise(home: Home, row: HomeSensor, minutes: int, low: int, high: int) -> int:
    """A whole number that stays the same for so many minutes."""
    return drawn(low, high, "sensor", home.seed, row.id, minutes_between(EPOCH, home.now) // minutes)


@lru_cache(maxsize=1 << 14)
def drawn(low: int, high: int, *key: object) -> int:
    return Draw(*key).integer(low, high)


def is_raining(home: Home) -> bool:
    """Whether it rains in this hour."""
    return rains(home.seed, home.now.isoformat(timespec="hours"))


@lru_cache(maxsize=1 << 14)
def rains(seed: int, hour: str) -> bool:
    return Draw("rain", seed, hour).chance(0.25)


def temperature(home: Home, row: HomeSensor) -> int:
    """Tenths of a degree: the room goes to what its thermostats are set to, by one tenth a minute."""
    found = 175 + drawn(-25, 25, "outside", home.seed, home.now.date()) - abs(home.now.hour - 14)
    for known in home.devices.where(room=row.room, kind="thermostat"):
        heater = current(home, known.id)
        if heater.level and heater.online:
            gap, moved = heater.level * 10 - found, minutes_between(heater.changed, home.now)
            found += max(-moved, min(moved, gap))
    return found + noise(home, row, 10, -2, 2)


def humidity(home: Home, row: HomeSensor) -> int:
    return noise(home, row, 30, 35, 60) + (15 if is_raining(home) else 0)


def motion(home: Home, row: HomeSensor) -> int:
    """Movements in the last ten minutes: none in a home that everybody has left."""
    return 0 if home.alarm.mode == "away" else max(0, noise(home, row, 10, -6, 12))


def smoke(home: Home, row: HomeSensor) -> int:
    return noise(home, row, 60, 0, 9)


MEASURES: dict[Quantity, Callable[[Home, HomeSensor], int]] = {
    "temperature": temperature,
    "humidity": humidity,
    "motion": motion,
    "smoke": smoke,
}
