"""Tools that switch devices and set their levels, now or later."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError
from .clock import current
from .device_types import KINDS
from .parameters import At, ChildLockPin, DeviceRef, GroupKind, GroupRoom, Level, Power
from .rules import act, at_level, reachable, require_future, require_level_at, require_no_child_lock, require_planned
from .schemas import DeviceView
from .server import server
from .state import DeviceSchedule, Home, SmartDevice
from .views import view

FURTHEST = timedelta(days=30)


def is_switched(row: SmartDevice, power: str) -> bool:
    return (row.level > 0) == (power == "on")


def switched(home: Home, row: SmartDevice, power: str) -> SmartDevice:
    """The device on, at its usual level, or off."""
    return at_level(home, row, row.usual if power == "on" else 0)


@server.write(idempotent=True)
def switch_smart_device(home: Home, device: DeviceRef, power: Power, pin: ChildLockPin = None) -> DeviceView:
    """Turn a light, plug, thermostat, speaker, camera or sprinkler on or off."""
    row = reachable(home, device)
    if not KINDS[row.kind].switched:
        raise ToolError("not_switchable", f"{device} ({row.name}) is not turned on or off; set its level instead.")
    require_no_child_lock(home, row, pin)
    if is_switched(row, power):
        raise ToolError(f"already_{power}", f"{device} ({row.name}) is {power} already; nothing is left to do.")
    changed = switched(home, row, power)
    act(home, f"turned {power}", changed)
    return view(changed)


@server.write(idempotent=True)
def switch_device_group(home: Home, room: GroupRoom, kind: GroupKind, power: Power) -> tuple[DeviceView, ...]:
    """Turn all devices of one kind in a room on or off. When one refuses, none is."""
    members = home.devices.where(room=home.rooms[room].id, kind=kind)
    if not members:
        raise ToolError("empty_group", f"{room} has no {kind}; name another room or kind.")
    rows = [reachable(home, row.id) for row in members]
    for row in rows:
        require_no_child_lock(home, row)
    if all(is_switched(row, power) for row in rows):
        raise ToolError(f"already_{power}", f"Every {kind} in {room} is {power} already; nothing is left to do.")
    changed = {row.id: switched(home, row, power) for row in rows if not is_switched(row, power)}
    act(home, f"turned {power}", *changed.values())
    return tuple([view(changed.get(row.id, row)) for row in rows])


@server.write(idempotent=True)
def set_device_level(home: Home, device: DeviceRef, level: Level, pin: ChildLockPin = None) -> DeviceView:
    """Set a light, thermostat, speaker, blinds or sprinkler to a level."""
    row = reachable(home, device)
    if not KINDS[row.kind].levelled:
        raise ToolError("no_levels", f"{device} ({row.name}) is a {row.kind} and has no levels; turn it on or off.")
    require_no_child_lock(home, row, pin)
    if row.level == level:
        raise ToolError("unchanged", f"{device} ({row.name}) is at {level} already; choose another level.")
    changed = at_level(home, row, level)
    act(home, f"set to {level}", changed)
    return view(changed)


@server.write(idempotent=True)
def schedule_smart_device(home: Home, device: DeviceRef, at: At, level: Level) -> DeviceSchedule:
    """Schedule a light, plug, thermostat, speaker or blinds to go to a level later."""
    row = current(home, device)
    require_planned(row)
    require_no_child_lock(home, row)
    require_future(home, at, FURTHEST)
    if any(plan.at == at for plan in home.schedules.where(device=device)):
        raise ToolError("schedule_exists", f"{device} ({row.name}) has a schedule for that minute; choose another.")
    require_level_at(home, row, level, at)
    id = home.schedules.new_id()
    return home.schedules.put(DeviceSchedule(id=id, device=device, name=row.name, at=at, level=level, created=home.now))
