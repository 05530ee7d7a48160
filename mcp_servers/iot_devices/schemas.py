"""What the tools of the home show: rooms, doors, readings, devices and guests as their owner sees them."""

from __future__ import annotations

from ..kit import Entity, Minute
from ..people import EmailAddress
from .device_types import DeviceKind, Quantity, Unit
from .state import DoorState, GuestCodeId, HomeAlarm, HomeDoorId, HomeRoomId, HomeSensorId, SmartDeviceId


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
