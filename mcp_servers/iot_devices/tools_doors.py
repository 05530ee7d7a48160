"""Tools on doors and their locks, and the alarm that needs them closed."""

from __future__ import annotations

from ..kit import ToolError
from .clock import cells_left, vacuum_now
from .device_types import DOOR_CELLS
from .parameters import AlarmRef, AskedMode, DoorRef, DoorTarget, HomePin, LockTarget, UnlockPin
from .rules import require_battery, require_disarmed, require_pin
from .schemas import DoorView
from .server import server
from .state import Home, HomeAlarm, HomeDoor, HomeDoorId
from .views import door_view


def working_door(home: Home, id: HomeDoorId) -> HomeDoor:
    """The door. Raises ToolError when its battery is too low to move anything."""
    row = home.doors[id]
    require_battery(id, row.name, cells_left(home, row.cells_since, DOOR_CELLS))
    return row


def require_lock(row: HomeDoor) -> None:
    if row.kind != "door":
        raise ToolError("no_lock", f"{row.id} ({row.name}) has no lock; it can only be opened and closed.")


@server.write(idempotent=True)
def move_home_door(home: Home, door: DoorRef, to: DoorTarget) -> DoorView:
    """Open or close a door that is not locked."""
    row = working_door(home, door)
    if to == row.state or (to == "closed" and row.state == "locked"):
        raise ToolError(f"already_{to}", f"{door} ({row.name}) is {row.state} already; nothing is left to do.")
    if to == "open":
        require_disarmed(home, "doors stay closed")
        if row.state == "locked":
            raise ToolError("door_locked", f"{door} ({row.name}) is locked; unlock it first.")
    return door_view(home, home.doors.change(door, state=to))


@server.write(idempotent=True)
def set_door_lock(home: Home, door: DoorRef, to: LockTarget, pin: UnlockPin = None) -> DoorView:
    """Lock a closed door, or unlock it with the home PIN."""
    row = working_door(home, door)
    require_lock(row)
    if (to == "locked") == (row.state == "locked"):
        raise ToolError(f"already_{to}", f"{door} ({row.name}) is {to} already; nothing is left to do.")
    if to == "locked":
        require_closed(row)
        return door_view(home, home.doors.change(door, state="locked"))
    require_disarmed(home, "doors stay locked")
    if pin is None:
        raise ToolError("pin_required", f"Unlocking {door} ({row.name}) takes the home PIN; ask for it.")
    require_pin(home, pin)
    return door_view(home, home.doors.change(door, state="closed"))


def require_closed(row: HomeDoor) -> None:
    if row.state == "open":
        raise ToolError("door_open", f"{row.id} ({row.name}) is open; close it first.")


@server.write(idempotent=True)
def set_home_alarm(home: Home, alarm: AlarmRef, mode: AskedMode, pin: HomePin) -> HomeAlarm:
    """Arm the alarm once all doors are locked or closed, or turn it off."""
    row = home.alarms[alarm]
    require_pin(home, pin)
    if row.mode == mode:
        raise ToolError("unchanged", f"The alarm is set to {mode} already; choose another mode.")
    if mode != "off":
        require_secure(home)
    if mode == "away" and vacuum_now(home).cleaning is not None:
        raise ToolError("vacuum_not_docked", "The vacuum is cleaning and would set off the alarm; dock it first.")
    return home.alarms.change(alarm, mode=mode)


def require_secure(home: Home) -> None:
    """Raises ToolError when a door is open, or has a lock and is not locked."""
    for row in home.doors:
        require_closed(row)
        if not is_secure(row):
            raise ToolError("door_unlocked", f"{row.id} ({row.name}) is not locked; lock it first.")


def is_secure(row: HomeDoor) -> bool:
    return row.state == ("locked" if row.kind == "door" else "closed")


@server.known_by_heart
def pins(home: Home) -> dict[tuple[str, str], str]:
    """The household knows the PIN of its home, whatever asks for it."""
    asking = [*home.alarms, *home.doors, *(row for row in home.devices if row.child_lock)]
    return {(row.id, "pin"): home.hub.pin for row in asking}
