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
from .sensing import is_raining, reading
from .server import server
from .shown import DeviceDetails, DeviceView, GuestView, HomeOverview, HomeReading
from .state import Home
from .views import code_view, details, room_view, vacuum_view, view


@server.read(
    "give me an overview of my home[, only floor {floor}][, at most {limit} rooms]",
    "show the rooms and doors of the house, the alarm and the vacuum[ on floor {floor}][, no more than {limit} rooms]",
    "tell me how things are at home[ on floor {floor}][, up to {limit} rooms]",
    "list the rooms of the smart home with their doors[, floor {floor}][, {limit} rooms at most]",
)
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


@server.read(
    "list the smart devices[ in {room}][, only of the kind {kind}][, only those that are {link}][, at most {limit}]",
    "show the devices of my home[ that are in {room}][ and of the kind {kind}][ and {link}][, no more than {limit}]",
    "tell me which devices are connected at home[ in {room}][, kind {kind}][, status {link}][, up to {limit} of them]",
    "look through the smart home devices[ of {room}][ for the kind {kind}][ that are {link}][, {limit} at most]",
)
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


@server.read(
    "show all about {device}, its battery and firmware",
    "look up the state of {device}",
    "check how {device} is doing",
    "tell me the level, battery, energy use and last event of {device}",
)
def get_smart_device(home: Home, device: DeviceRef) -> DeviceDetails:
    """Get one device with its level, battery, energy use, firmware and last event."""
    return details(home, device)


@server.read(
    "read the sensors at home[ in {room}][, only {quantity}][, at most {limit}]",
    "tell me what the home sensors measure right now[ in {room}][ for {quantity}][, no more than {limit}]",
    "check the sensor values of the house[, room {room}][, quantity {quantity}][, up to {limit} of them]",
    "look at the current readings at home[ of {room}][ about {quantity}][, {limit} at most]",
)
def read_home_sensors(
    home: Home, room: SensorRoom = None, quantity: AskedQuantity = None, limit: Limit = None
) -> tuple[HomeReading, ...]:
    """Read what the sensors of the home measure now."""
    wanted = {"room": None if room is None else home.rooms[room].id, "quantity": quantity}
    given = {name: value for name, value in wanted.items() if value is not None}
    rows = home.sensors.where(**given) if given else list(home.sensors)
    return tuple([reading(home, row) for row in rows[: limit or ROWS]])


@server.read(
    "list the guests who may get a door code[ named {name}][, at most {limit}]",
    "show the guests of my home and their codes[, only those called {name}][, no more than {limit}]",
    "find the people I can let into the house[ by the name {name}][, up to {limit} of them]",
    "look through the guests of the smart home[ for {name}][, {limit} at most]",
)
def list_home_guests(home: Home, name: AskedGuest = None, limit: Limit = None) -> tuple[GuestView, ...]:
    """List the people who can be given a code, with those they have."""
    wanted = (name or "").strip().casefold()
    rows = [row for row in home.guests if wanted in row.name.casefold()][: limit or ROWS]
    codes = [tuple([code_view(code) for code in home.live_codes(guest=row.id)]) for row in rows]
    return tuple([GuestView(id=row.id, name=row.name, codes=own or None) for row, own in zip(rows, codes, strict=True)])
