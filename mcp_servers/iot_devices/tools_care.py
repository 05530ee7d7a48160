"""Tools that look after the home: the vacuum, firmware, restarts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ..kit import ToolError
from .clock import battery, changed, current, vacuum_now
from .parameters import CleanedRoom, DeviceRef
from .rules import act, reachable, require_battery, require_disarmed, require_noise_allowed
from .schemas import DeviceDetails, DeviceView, VacuumView
from .server import server
from .state import Home
from .views import details, vacuum_view, view

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
    act(home, f"update to {row.latest}", changed(row, home.now, updating_until=home.now + UPDATE_TIME))
    return details(home, device)


@server.write(idempotent=True)
def restart_smart_device(home: Home, device: DeviceRef) -> DeviceView:
    """Restart a device that is offline, which brings it back if its battery allows."""
    row = current(home, device)
    if row.online:
        raise ToolError("not_offline", f"{device} ({row.name}) is online; it needs no restart.")
    require_battery(device, row.name, battery(home, row))
    started = changed(row, home.now, online=True)
    act(home, "restarted", started)
    return view(started)
