"""Views of rooms, doors, devices and guests that the tools return."""

from __future__ import annotations

from ..core import Entity, Minute
from ..shared.people import EmailAddress
from .clock import battery, cells_left, current, meter_at, power, vacuum_now
from .state import (
    DOOR_CELLS,
    KINDS,
    DeviceKind,
    DoorState,
    GuestCode,
    GuestCodeId,
    Home,
    HomeAlarm,
    HomeDoor,
    HomeDoorId,
    HomeRoom,
    HomeRoomId,
    HomeSensorId,
    Quantity,
    SmartDevice,
    SmartDeviceId,
    Unit,
)

# Tool results: rooms, doors, readings, devices and guests as their owner sees them.


class DoorView(Entity):
    """A door as it is shown."""

    __label__ = "the {name}"
    id: HomeDoorId
    name: str
    state: DoorState
    battery: int


class RoomView(Entity):
    """A room with its doors, where it has any."""

    __label__ = "the {name}"
    id: HomeRoomId
    name: str
    floor: int
    doors: tuple[DoorView, ...] | None = None


class VacuumView(Entity):
    """What the vacuum does, and its charge in percent."""

    state: str
    floor: int
    charge: int


class HomeOverview(Entity):
    """The home as a whole, with its rooms."""

    alarm: HomeAlarm
    vacuum: VacuumView
    quiet_hours: str
    raining: bool
    rooms: tuple[RoomView, ...]


class HomeReading(Entity):
    """What a sensor measures at this moment; nothing when its battery is empty."""

    __label__ = "the {name}"
    id: HomeSensorId
    name: str
    quantity: Quantity
    value: int | None = None
    unit: Unit


class DeviceView(Entity):
    """A device in a list; `state` says in words how it is."""

    __label__ = "the {name}"
    id: SmartDeviceId
    name: str
    kind: DeviceKind
    state: str


class DeviceDetails(Entity):
    """A device with all that matters; `latest` is a firmware it could be updated to."""

    __label__ = "the {name}"
    id: SmartDeviceId
    name: str
    kind: DeviceKind
    room: HomeRoomId
    state: str
    low: int | None = None
    high: int | None = None
    unit: str | None = None
    battery: int | None = None
    watts: int | None = None
    energy_wh: int | None = None
    child_lock: bool | None = None
    firmware: str
    latest: str | None = None
    updating_until: Minute | None = None
    last_event: str
    next_schedule: Minute | None = None


class GuestCodeView(Entity):
    """A guest's code as the owner sees it: without the digits."""

    __label__ = "the code of {guest_name} for the {door_name}"
    id: GuestCodeId
    guest_name: str
    door_name: str
    until: Minute


class GuestView(Entity):
    """A guest with the codes that have not expired."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    codes: tuple[GuestCodeView, ...] | None = None


def state_of(row: SmartDevice) -> str:
    """Describe the state of a device in words."""
    if not row.online:
        return "offline"
    kind = KINDS[row.kind]
    if row.level and kind.levelled:
        return f"{row.level} {kind.unit}"
    if kind.switched:
        return "on" if row.level else "off"
    return "closed"


def view(row: SmartDevice) -> DeviceView:
    return DeviceView.from_row(row, state=state_of(row))


def door_view(home: Home, row: HomeDoor) -> DoorView:
    return DoorView.from_row(row, battery=cells_left(home, row.cells_since, DOOR_CELLS))


def room_view(home: Home, row: HomeRoom) -> RoomView:
    doors = tuple([door_view(home, door) for door in home.doors.where(room=row.id)])
    return RoomView.from_row(row, doors=doors or None)


def vacuum_view(home: Home) -> VacuumView:
    row = vacuum_now(home)
    state = "docked" if row.cleaning is None else f"cleaning the {home.rooms[row.cleaning].name}"
    return VacuumView(state=state, floor=row.floor, charge=row.charge)


def code_view(row: GuestCode) -> GuestCodeView:
    return GuestCodeView.from_row(row)


def details(home: Home, id: SmartDeviceId) -> DeviceDetails:
    row = current(home, id)
    levelled = KINDS[row.kind].levelled
    coming = [plan.at for plan in home.schedules.where(device=id) if plan.at > home.now]
    return DeviceDetails.from_row(
        row,
        state=state_of(row),
        low=row.low if levelled else None,
        high=row.high if levelled else None,
        unit=KINDS[row.kind].unit if levelled else None,
        battery=battery(home, row),
        watts=power(row) if row.watts else None,
        energy_wh=meter_at(row, home.now) // 60 if row.watts else None,
        child_lock=row.child_lock or None,
        latest=row.latest if row.latest != row.firmware else None,
        last_event=home.events.where(devices=id)[-1].what,
        next_schedule=min(coming, default=None),
    )
