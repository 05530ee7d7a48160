"""Sensor readings, device checks that raise ToolError, and the log of device changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache

from ..core import Draw, ToolError, minute_text
from .clock import battery, cells_left, change_level, current, minutes_between
from .state import (
    KINDS,
    SENSES,
    SENSOR_CELLS,
    EventPart,
    Home,
    HomeEvent,
    HomeSensor,
    Quantity,
    SmartDevice,
    SmartDeviceId,
)
from .views import HomeReading

# Sensor values: integers derived from the seed, the sensor, the clock and the devices that are on.

EPOCH = datetime(2026, 1, 1)


def read_sensor(home: Home, row: HomeSensor) -> HomeReading:
    """Return what a sensor measures now; the value is None when its battery is empty."""
    works = cells_left(home, row.cells_since, SENSOR_CELLS) > 0
    value = MEASURES[row.quantity](home, row) if works else None
    return HomeReading.from_row(row, value=value, unit=SENSES[row.quantity].unit)


def noise(home: Home, row: HomeSensor, minutes: int, low: int, high: int) -> int:
    """Return a pseudo-random integer that stays the same for `minutes` minutes."""
    return draw_integer(low, high, "sensor", home.seed, row.id, minutes_between(EPOCH, home.now) // minutes)


@lru_cache(maxsize=1 << 14)
def draw_integer(low: int, high: int, *key: object) -> int:
    return Draw(*key).integer(low, high)


def is_raining(home: Home) -> bool:
    """Return whether it rains in the current hour."""
    return rains(home.seed, home.now.isoformat(timespec="hours"))


@lru_cache(maxsize=1 << 14)
def rains(seed: int, hour: str) -> bool:
    return Draw("rain", seed, hour).chance(0.25)


def temperature(home: Home, row: HomeSensor) -> int:
    """Return tenths of a degree: the room approaches its thermostats' setting by one tenth a minute."""
    found = 175 + draw_integer(-25, 25, "outside", home.seed, home.now.date()) - abs(home.now.hour - 14)
    for known in home.devices.where(room=row.room, kind="thermostat"):
        heater = current(home, known.id)
        if heater.level and heater.online:
            gap, moved = heater.level * 10 - found, minutes_between(heater.changed, home.now)
            found += max(-moved, min(moved, gap))
    return found + noise(home, row, 10, -2, 2)


def humidity(home: Home, row: HomeSensor) -> int:
    return noise(home, row, 30, 35, 60) + (15 if is_raining(home) else 0)


def motion(home: Home, row: HomeSensor) -> int:
    """Return the movements in the last ten minutes, which are 0 while everybody is away."""
    return 0 if home.alarm.mode == "away" else max(0, noise(home, row, 10, -6, 12))


def measure_smoke(home: Home, row: HomeSensor) -> int:
    return noise(home, row, 60, 0, 9)


MEASURES: dict[Quantity, Callable[[Home, HomeSensor], int]] = {
    "temperature": temperature,
    "humidity": humidity,
    "motion": motion,
    "smoke": measure_smoke,
}


# Device checks that raise ToolError, and the log of device changes.

LEAST_BATTERY, QUIET_VOLUME = 10, 30


def reachable(home: Home, id: SmartDeviceId) -> SmartDevice:
    """Return the device as it is now. Raises ToolError when it is offline, updating or low on battery."""
    row = current(home, id)
    if not row.online:
        raise ToolError("device_offline", f"{id} ({row.name}) is offline; restart it first.")
    if row.updating_until is not None:
        raise ToolError(
            "device_updating",
            f"{id} ({row.name}) is updating until {minute_text(row.updating_until)}; do something else until then.",
        )
    require_battery(id, row.name, battery(home, row))
    return row


def require_battery(id: str, name: str, left: int | None, needed: int = LEAST_BATTERY) -> None:
    if left is not None and left < needed:
        raise ToolError("battery_low", f"{id} ({name}) has {left}% battery and needs {needed}%; change its batteries.")


def require_disarmed(home: Home, why: str) -> None:
    if home.alarm.mode != "off":
        raise ToolError("alarm_armed", f"The alarm is set to {home.alarm.mode}, so {why}; set it to off first.")


def require_pin(home: Home, pin: str) -> None:
    if pin != home.hub.pin:
        raise ToolError("wrong_pin", "This is not the home PIN; ask for the right one.")


def require_no_child_lock(home: Home, row: SmartDevice, pin: str | None = None) -> None:
    if pin is not None:
        require_pin(home, pin)
    elif row.child_lock:
        raise ToolError("child_lock", f"{row.id} ({row.name}) has a child lock; set it by itself with the home PIN.")


def is_quiet(home: Home, moment: datetime) -> bool:
    """Return whether a moment lies in the quiet hours, which may extend past midnight."""
    start, end, hour = home.hub.quiet_from, home.hub.quiet_to, moment.hour
    return start <= hour < end if start < end else hour >= start or hour < end


def require_noise_allowed(home: Home, why: str, moment: datetime) -> None:
    if is_quiet(home, moment):
        raise ToolError("quiet_hours", f"The home is quiet from {quiet_hours(home)}, so {why}; choose another time.")


def quiet_hours(home: Home) -> str:
    return f"{home.hub.quiet_from:02d}:00 to {home.hub.quiet_to:02d}:00"


def require_future(home: Home, moment: datetime, furthest: timedelta) -> None:
    if moment <= home.now:
        raise ToolError("in_the_past", f"It is {minute_text(home.now)} now; choose a later time.")
    if moment > home.now + furthest:
        raise ToolError("too_far_ahead", f"Choose a time until {minute_text(home.now + furthest)}.")


def require_level(row: SmartDevice, level: int) -> None:
    if level and not row.low <= level <= row.high:
        raise ToolError(
            "out_of_range", f"{row.id} ({row.name}) goes from {row.low} to {row.high}; choose one of these, or 0."
        )


def at_level(home: Home, row: SmartDevice, level: int) -> SmartDevice:
    """Return the device at another level from now on. Raises ToolError when it may not have that level."""
    require_level_at(home, row, level, home.now)
    return change_level(row, home.now, level)


def require_level_at(home: Home, row: SmartDevice, level: int, moment: datetime) -> None:
    """Raise ToolError when the device may not have that level at that moment."""
    require_level(row, level)
    if row.kind == "speaker" and level > QUIET_VOLUME:
        require_noise_allowed(home, f"no speaker goes above {QUIET_VOLUME}", moment)
    if row.kind == "sprinkler" and level and is_raining(home):
        raise ToolError("raining", f"It is raining, so {row.id} ({row.name}) does not water; try again next hour.")
    if row.kind == "camera" and not level:
        require_disarmed(home, "cameras stay on")


def require_planned(row: SmartDevice) -> None:
    if not KINDS[row.kind].planned:
        raise ToolError(
            "not_plannable", f"{row.id} ({row.name}) is a {row.kind}, which no schedule or scene sets; choose another."
        )


def act(home: Home, what: str, *rows: SmartDevice) -> None:
    """Write the changed devices, with one log entry for all of them."""
    for row in rows:
        home.devices.put(row)
    parts = tuple([EventPart(device=row.id, level=row.level, meter=row.meter) for row in rows])
    home.events.put(HomeEvent(id=home.events.new_id(), at=home.now, what=what, parts=parts))
