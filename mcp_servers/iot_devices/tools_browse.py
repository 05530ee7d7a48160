"""Tools that look: the home with its rooms, devices, sensors, guests."""

from __future__ import annotations

from .clock import current
from .parameters import (
    ROWS,
    AskedFloor,
    AskedGuest,
    AskedKind,
    AskedLink,
    AskedQuantity,
    AskedRoom,
    DeviceRef,
    Limit,
    SensorRoom,
)
from .rules import quiet_hours
from .schemas import DeviceDetails, DeviceView, GuestView, HomeOverview, HomeReading
from .sensors import is_raining, reading
from .server import server
from .state import Home
from .views import code_view, details, room_view, vacuum_view, view


@server.read()
def get_home_overview(home: Home, floor: AskedFloor = None, limit: Limit = None) -> HomeOverview:
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
    home: Home, room: AskedRoom = None, kind: AskedKind = None, link: AskedLink = None, limit: Limit = None
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
    home: Home, room: SensorRoom = None, quantity: AskedQuantity = None, limit: Limit = None
) -> tuple[HomeReading, ...]:
    """Read what the sensors of the home measure now."""
    wanted = {"room": None if room is None else home.rooms[room].id, "quantity": quantity}
    given = {name: value for name, value in wanted.items() if value is not None}
    rows = home.sensors.where(**given) if given else list(home.sensors)
    return tuple([reading(home, row) for row in rows[: limit or ROWS]])


@server.read()
def list_home_guests(home: Home, name: AskedGuest = None, limit: Limit = None) -> tuple[GuestView, ...]:
    """List the people who can be given a code, with those they have."""
    wanted = (name or "").strip().casefold()
    rows = [row for row in home.guests if wanted in row.name.casefold()][: limit or ROWS]
    codes = [tuple([code_view(code) for code in home.live_codes(guest=row.id)]) for row in rows]
    return tuple([GuestView(id=row.id, name=row.name, codes=own or None) for row, own in zip(rows, codes, strict=True)])
