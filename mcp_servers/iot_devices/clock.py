"""Time-driven changes of the home: schedules that come due, runs that end, batteries that drain."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from ..core import ToolError
from .state import KINDS, Comparison, Home, HomeScene, HomeSensor, RobotVacuum, SceneAction, SmartDevice, SmartDeviceId

LONGEST_CLEANING, LEAST_CHARGE, MINUTES_PER_CHARGE = 40, 10, 2
MINUTE = timedelta(minutes=1)


def minutes_between(start: datetime, end: datetime) -> int:
    return (end - start) // MINUTE


def next_of(home: Home, row: SmartDevice) -> SmartDevice | None:
    """Return the device after its next automatic change, or None when no change is due yet."""
    if row.kind == "sprinkler" and row.level:
        end = row.changed + timedelta(minutes=row.level)
        return change_level(row, end, 0) if end <= home.now else None
    if not row.online:
        return None
    due = [plan for plan in home.schedules.where(device=row.id) if row.changed < plan.at <= home.now]
    if row.updating_until is not None:
        due = [plan for plan in due if plan.at >= row.updating_until]
    if not due:
        return None
    plan = min(due, key=lambda plan: plan.at)
    return change_level(row, plan.at, plan.level)


def change_level(row: SmartDevice, moment: datetime, level: int) -> SmartDevice:
    """Return the device at another level from the given moment on."""
    return change_device(row, moment, level=level, usual=level or row.usual)


def change_device(row: SmartDevice, moment: datetime, **values: Any) -> SmartDevice:
    """Return the device with other values from the given moment on and its meter read at that moment."""
    return replace(row, changed=moment, meter=meter_at(row, moment), **values)


def current(home: Home, id: SmartDeviceId) -> SmartDevice:
    """Return the device as it is now, with all automatic changes since its last write applied in order."""
    row = home.devices[id]
    while (following := next_of(home, row)) is not None:
        row = following
    if row.updating_until is not None and row.updating_until <= home.now:
        row = replace(row, firmware=row.latest, updating_until=None)
    return row


def power(row: SmartDevice) -> int:
    """Return the power in watts: `watts` in proportion to the level's share of `high`."""
    return row.watts * row.level // row.high


def meter_at(row: SmartDevice, moment: datetime) -> int:
    """Return the watt-minutes used until a moment, if nothing changes in between."""
    return row.meter + power(row) * minutes_between(row.changed, moment)


def cells_left(home: Home, since: datetime, days: int) -> int:
    """Return the percentage left in batteries that last `days` days."""
    return max(0, 100 - (home.now - since).days * 100 // days)


def battery(home: Home, row: SmartDevice) -> int | None:
    """Return the percentage left in a device's batteries, or None for a device on mains power."""
    days = KINDS[row.kind].cells
    return None if days is None or row.cells_since is None else cells_left(home, row.cells_since, days)


def vacuum_now(home: Home) -> RobotVacuum:
    """Return the vacuum as it is now; it docks after LONGEST_CLEANING minutes or when its charge is low."""
    row = next(iter(home.vacuums))
    if row.cleaning is not None:
        passed = minutes_between(row.changed, home.now)
        worked = min(passed, LONGEST_CLEANING, row.charge - LEAST_CHARGE)
        row = replace(row, charge=row.charge - worked, changed=row.changed + worked * MINUTE)
        if worked == passed and worked < LONGEST_CLEANING and row.charge > LEAST_CHARGE:
            return row
        row = replace(row, cleaning=None)
    rest = minutes_between(row.changed, home.now)
    charged = min(100, row.charge + rest // MINUTES_PER_CHARGE)
    return replace(row, charge=charged, changed=home.now - rest % MINUTES_PER_CHARGE * MINUTE)


def keeps_up(home: Home, sensor: HomeSensor, comparison: Comparison, threshold: int, action: SceneAction) -> bool:
    """Return whether an action moves the room's temperature to where the automation's condition holds again."""
    device = home.devices[action.device]
    if sensor.quantity != "temperature" or device.kind != "thermostat" or device.room != sensor.room:
        return False
    target = action.level * 10
    return action.level > 0 and (target > threshold if comparison == "above" else target < threshold)


def require_no_loop(home: Home, sensor: HomeSensor, comparison: Comparison, threshold: int, scene: HomeScene) -> None:
    for action in scene.actions:
        if keeps_up(home, sensor, comparison, threshold, action):
            device = home.devices[action.device]
            raise ToolError(
                "automation_loop",
                f"{scene.name} sets {device.id} ({device.name}) to {action.level}, which keeps {sensor.name} "
                f"{comparison} {threshold}; choose another threshold or level.",
            )
