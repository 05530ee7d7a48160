"""Tools that inspect the home, maintain it and switch its devices."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ..core import ToolError
from .clock import battery, change_device, current, vacuum_now
from .engine import (
    act,
    at_level,
    is_raining,
    quiet_hours,
    reachable,
    read_sensor,
    require_battery,
    require_disarmed,
    require_future,
    require_level_at,
    require_no_child_lock,
    require_noise_allowed,
    require_planned,
)
from .server import (
    ROWS,
    At,
    ChildLockPin,
    CleanedRoom,
    DeviceRef,
    FloorParam,
    GroupKind,
    GroupRoom,
    GuestParam,
    KindParam,
    Level,
    Limit,
    LinkParam,
    Power,
    QuantityParam,
    RoomParam,
    SensorRoom,
    server,
)
from .state import KINDS, DeviceSchedule, Home, SmartDevice
from .views import (
    DeviceDetails,
    DeviceView,
    GuestView,
    HomeOverview,
    HomeReading,
    VacuumView,
    code_view,
    details,
    room_view,
    vacuum_view,
    view,
)

# Read-only tools: the home with its rooms, devices, sensors and guests.


@server.read()
def get_home_overview(home: Home, floor: FloorParam = None, limit: Limit = None) -> HomeOverview:
    """Get the home's rooms with their doors, its alarm, vacuum and quiet hours."""
    rooms = list(home.rooms) if floor is None else home.rooms.where(floor=floor)
    return HomeOverview(
        alarm=home.alarm,
        vacuum=vacuum_view(home),
        quiet_hours=quiet_hours(home),
        raining=is_raining(home),
        rooms=tuple([room_view(home, row) for row in rooms[: limit or ROWS]]),
    )


@server.read()
def list_smart_devices(
    home: Home, room: RoomParam = None, kind: KindParam = None, link: LinkParam = None, limit: Limit = None
) -> tuple[DeviceView, ...]:
    """List the devices of the home with their state."""
    wanted = {"room": None if room is None else home.rooms[room].id, "kind": kind}
    given = {name: value for name, value in wanted.items() if value is not None}
    rows = home.devices.where(**given) if given else list(home.devices)
    if link is not None:
        rows = [row for row in rows if row.online == (link == "online")]
    return tuple([view(current(home, row.id)) for row in rows[: limit or ROWS]])


@server.read()
def get_smart_device(home: Home, device: DeviceRef) -> DeviceDetails:
    """Get one device with its level, battery, energy use, firmware and last event."""
    return details(home, device)


@server.read()
def read_home_sensors(
    home: Home, room: SensorRoom = None, quantity: QuantityParam = None, limit: Limit = None
) -> tuple[HomeReading, ...]:
    """Read what the sensors of the home measure now."""
    wanted = {"room": None if room is None else home.rooms[room].id, "quantity": quantity}
    given = {name: value for name, value in wanted.items() if value is not None}
    rows = home.sensors.where(**given) if given else list(home.sensors)
    return tuple([read_sensor(home, row) for row in rows[: limit or ROWS]])


@server.read()
def list_home_guests(home: Home, name: GuestParam = None, limit: Limit = None) -> tuple[GuestView, ...]:
    """List the people who can be given a code, with those they have."""
    wanted = (name or "").strip().casefold()
    rows = [row for row in home.guests if wanted in row.name.casefold()][: limit or ROWS]
    codes = [tuple([code_view(code) for code in home.live_codes(guest=row.id)]) for row in rows]
    return tuple([GuestView(id=row.id, name=row.name, codes=own or None) for row, own in zip(rows, codes, strict=True)])


# Maintenance tools: the vacuum, firmware and restarts.

UPDATE_TIME = timedelta(minutes=8)
LEAST_FOR_CLEANING, LEAST_FOR_UPDATE = 30, 30


@server.write(idempotent=True)
def start_vacuum(home: Home, room: CleanedRoom) -> VacuumView:
    """Send the docked vacuum to clean a room on its floor."""
    row, target = vacuum_now(home), home.rooms[room]
    if row.cleaning is not None:
        raise ToolError("vacuum_not_docked", f"The vacuum cleans the {home.rooms[row.cleaning].name}; dock it first.")
    require_noise_allowed(home, "the vacuum stays on its dock", home.now)
    if home.alarm.mode == "away":
        require_disarmed(home, "nothing may move at home")
    if target.floor != row.floor:
        raise ToolError("wrong_floor", f"The vacuum cannot leave floor {row.floor}; choose a room there.")
    if row.charge < LEAST_FOR_CLEANING:
        raise ToolError(
            "vacuum_charging", f"The vacuum has {row.charge}% charge; wait until it has {LEAST_FOR_CLEANING}%."
        )
    home.vacuums.put(replace(row, cleaning=room, changed=home.now))
    return vacuum_view(home)


@server.write(idempotent=True)
def dock_vacuum(home: Home) -> VacuumView:
    """Send the vacuum back to its dock while it is cleaning."""
    row = vacuum_now(home)
    if row.cleaning is None:
        raise ToolError("already_docked", "The vacuum is on its dock already; nothing is left to do.")
    home.vacuums.put(replace(row, cleaning=None))
    return vacuum_view(home)


@server.write(destructive=True, idempotent=True)
def update_device_firmware(home: Home, device: DeviceRef) -> DeviceDetails:
    """Update a device to its latest firmware, which takes eight minutes."""
    row = reachable(home, device)
    if row.firmware == row.latest:
        raise ToolError("up_to_date", f"{device} ({row.name}) has {row.firmware}, the latest firmware.")
    if row.kind == "camera":
        require_disarmed(home, "cameras are not updated")
    if row.kind == "sprinkler" and row.level:
        raise ToolError("device_running", f"{device} ({row.name}) is watering; turn it off first.")
    require_battery(device, row.name, battery(home, row), LEAST_FOR_UPDATE)
    act(home, f"update to {row.latest}", change_device(row, home.now, updating_until=home.now + UPDATE_TIME))
    return details(home, device)


@server.write(idempotent=True)
def restart_smart_device(home: Home, device: DeviceRef) -> DeviceView:
    """Restart a device that is offline, which brings it back if its battery allows."""
    row = current(home, device)
    if row.online:
        raise ToolError("not_offline", f"{device} ({row.name}) is online; it needs no restart.")
    require_battery(device, row.name, battery(home, row))
    started = change_device(row, home.now, online=True)
    act(home, "restarted", started)
    return view(started)


# Tools that switch devices and set their levels, now or later.

FURTHEST = timedelta(days=30)


def is_switched(row: SmartDevice, power: str) -> bool:
    return (row.level > 0) == (power == "on")


def switch_power(home: Home, row: SmartDevice, power: str) -> SmartDevice:
    """Return the device turned on, at its usual level, or turned off."""
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
    changed = switch_power(home, row, power)
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
    changed = {row.id: switch_power(home, row, power) for row in rows if not is_switched(row, power)}
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
