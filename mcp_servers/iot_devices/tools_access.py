"""Tools for doors, locks, the alarm and guest codes."""

from __future__ import annotations

from datetime import timedelta

from ..core import ToolError
from .clock import cells_left, vacuum_now
from .engine import require_battery, require_disarmed, require_future, require_pin
from .server import (
    AlarmRef,
    CodeRef,
    CodeUntil,
    DoorRef,
    DoorTarget,
    GuestRef,
    HomePin,
    LockedDoor,
    LockTarget,
    ModeParam,
    NewCode,
    UnlockPin,
    server,
)
from .state import DOOR_CELLS, GuestCode, Home, HomeAlarm, HomeDoor, HomeDoorId
from .views import DoorView, GuestCodeView, code_view, door_view

# Tools for doors and their locks, and for the alarm, which needs the doors closed.


def working_door(home: Home, id: HomeDoorId) -> HomeDoor:
    """Return the door. Raises ToolError when its battery is too low to move it."""
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
def set_home_alarm(home: Home, alarm: AlarmRef, mode: ModeParam, pin: HomePin) -> HomeAlarm:
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
    """Raise ToolError when a door is open, or has a lock and is not locked."""
    for row in home.doors:
        require_closed(row)
        if not is_secure(row):
            raise ToolError("door_unlocked", f"{row.id} ({row.name}) is not locked; lock it first.")


def is_secure(row: HomeDoor) -> bool:
    return row.state == ("locked" if row.kind == "door" else "closed")


@server.known_by_heart
def pins(home: Home) -> dict[tuple[str, str], str]:
    """Return the home's PIN, which the household knows, for every row that needs it."""
    locked = [*home.alarms, *home.doors, *(row for row in home.devices if row.child_lock)]
    return {(row.id, "pin"): home.hub.pin for row in locked}


# Tools for the codes that guests use to unlock a door.

MOST_CODES, LONGEST = 5, timedelta(days=90)


@server.write(idempotent=True)
def add_guest_code(home: Home, door: LockedDoor, guest: GuestRef, new_code: NewCode, until: CodeUntil) -> GuestCodeView:
    """Give a guest a code of their own for a door until a moment."""
    row, person = working_door(home, door), home.guests[guest]
    require_lock(row)
    require_future(home, until, LONGEST)
    codes = home.live_codes(door=door)
    if any(code.guest == guest for code in codes):
        raise ToolError("guest_has_code", f"{person.name} has a code for {door} ({row.name}); revoke it first.")
    if len(codes) >= MOST_CODES:
        raise ToolError("too_many_codes", f"{door} ({row.name}) has {MOST_CODES} guest codes; revoke one first.")
    if any(code.code == new_code for code in codes):
        raise ToolError("code_taken", "Another guest has this code for that door; choose another.")
    if is_weak(new_code):
        raise ToolError("weak_code", "The code is too easy to guess; avoid equal or consecutive digits.")
    return code_view(
        home.codes.put(
            GuestCode(
                id=home.codes.new_id(),
                door=door,
                door_name=row.name,
                guest=guest,
                guest_name=person.name,
                code=new_code,
                until=until,
            )
        )
    )


def is_weak(code: str) -> bool:
    """Return whether the digits rise or fall by one, or are all equal: 123456, 654321, 777777."""
    return code in "0123456789" or code in "9876543210" or code == code[0] * len(code)


@server.write(destructive=True, idempotent=True)
def revoke_guest_code(home: Home, code: CodeRef) -> GuestCodeView:
    """Revoke a guest's code for good."""
    working_door(home, home.codes[code].door)
    return code_view(home.codes.remove(code))
