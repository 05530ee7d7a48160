"""How rooms, doors, devices and guests are shown."""

from __future__ import annotations

from .clock import battery, cells_left, current, meter_at, power, vacuum_now
from .device_types import DOOR_CELLS, KINDS
from .schemas import DeviceDetails, DeviceView, DoorView, GuestCodeView, RoomView, VacuumView
from .state import GuestCode, Home, HomeDoor, HomeRoom, SmartDevice, SmartDeviceId


def state_of(row: SmartDevice) -> str:
    """In words how a device is."""
    if not row.online:
        return "offline"
    kind = KINDS[row.kind]
    if row.level and kind.levelled:
        return f"{row.level} {kind.unit}"
    if kind.switched:
        return "on" if row.level else "off"
    return "closed"


def view(row: SmartDevice) -> DeviceView:
    return DeviceView(id=row.id, name=row.name, kind=row.kind, state=state_of(row))


def door_view(home: Home, row: HomeDoor) -> DoorView:
    return DoorView(id=row.id, name=row.name, state=row.state, battery=cells_left(home, row.cells_since, DOOR_CELLS))


def room_view(home: Home, row: HomeRoom) -> RoomView:
    doors = tuple([door_view(home, door) for door in home.doors.where(room=row.id)])
    return RoomView(id=row.id, name=row.name, floor=row.floor, doors=doors or None)


def vacuum_view(home: Home) -> VacuumView:
    row = vacuum_now(home)
    state = "docked" if row.cleaning is None else f"cleaning the {home.rooms[row.cleaning].name}"
    return VacuumView(state=state, floor=row.floor, charge=row.charge)


def code_view(row: GuestCode) -> GuestCodeView:
    return GuestCodeView(id=row.id, guest_name=row.guest_name, door_name=row.door_name, until=row.until)


def details(home: Home, id: SmartDeviceId) -> DeviceDetails:
    row = current(home, id)
    levelled = KINDS[row.kind].levelled
    coming = [plan.at for plan in home.schedules.where(device=id) if plan.at > home.now]
    return DeviceDetails(
        id=row.id,
        name=row.name,
        kind=row.kind,
        room=row.room,
        state=state_of(row),
        low=row.low if levelled else None,
        high=row.high if levelled else None,
        unit=KINDS[row.kind].unit if levelled else None,
        battery=battery(home, row),
        watts=power(row) if row.watts else None,
        energy_wh=meter_at(row, home.now) // 60 if row.watts else None,
        child_lock=row.child_lock or None,
        firmware=row.firmware,
        latest=row.latest if row.latest != row.firmware else None,
        updating_until=row.updating_until,
        last_event=home.events.where(devices=id)[-1].what,
        next_schedule=min(coming, default=None),
    )
