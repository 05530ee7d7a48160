"""The devices of a new home, most of which work, and the log of how they came."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ..kit import Draw, fresh
from .device_types import KINDS, DeviceKind
from .names import DEVICES, FIRMWARES, LIGHT_WATTS, WATTS
from .state import EventPart, Home, HomeEvent, HomeRoom, SmartDevice

FIRST: tuple[DeviceKind, ...] = ("light", "plug", "thermostat", "light")
OTHERS: tuple[DeviceKind, ...] = (
    "light", "light", "light", "plug", "plug", "thermostat", "blinds", "blinds", "speaker", "speaker", "camera",
    "sprinkler",
)  # fmt: skip
RANGES: dict[DeviceKind, tuple[tuple[int, int], ...]] = {
    "light": ((1, 100), (1, 100), (10, 100), (5, 80), (100, 100)),
    "thermostat": ((5, 30), (10, 26), (12, 28), (8, 25)),
    "speaker": ((1, 100), (5, 80)),
    "blinds": ((1, 100),),
    "sprinkler": ((5, 60), (5, 30), (10, 45)),
}


def put_devices(home: Home, draw: Draw, count: int) -> None:
    """Some that work, then others of any kind, which may not; the first room has two of the first ones."""
    rooms, names = list(home.rooms), dict[str, None]()
    kinds = [*FIRST, *draw.shuffled(OTHERS * (count // len(OTHERS) + 1))][:count]
    for place, kind in enumerate(kinds):
        room = rooms[place % 2] if place < len(FIRST) else draw.choice(rooms)
        what = draw.choice(DEVICES[kind])
        name, number = f"{room.name} {what}", 2
        while name in names:
            name, number = f"{room.name} {what} {number}", number + 1
        names[name] = None
        row = draw_device(home, draw, kind, what, room, name)
        row = home.devices.put(row if place < len(FIRST) else spoil(home, draw, row))
        part = EventPart(device=row.id, level=row.level, meter=row.meter)
        home.events.put(HomeEvent(id=fresh(home.events, name), at=row.changed, what="installed", parts=(part,)))


def draw_device(home: Home, draw: Draw, kind: DeviceKind, what: str, room: HomeRoom, name: str) -> SmartDevice:
    """A device that works, on or off."""
    low, high = draw.choice(RANGES.get(kind, ((1, 1),)))
    usual, firmware, cells = draw.integer(low, high), draw.integer(0, len(FIRMWARES) - 2), KINDS[kind].cells
    return SmartDevice(
        id=fresh(home.devices, name),
        name=name,
        kind=kind,
        room=room.id,
        online=True,
        level=usual if kind != "sprinkler" and draw.chance(0.5) else 0,
        usual=usual,
        low=low,
        high=high,
        watts=draw.choice(LIGHT_WATTS) if kind == "light" else WATTS.get(what, 0),
        meter=draw.integer(0, 900_000),
        changed=home.now - timedelta(minutes=draw.integer(1, 2_000)),
        firmware=FIRMWARES[firmware],
        latest=FIRMWARES[firmware + int(draw.chance(0.5))],
        cells_since=None if cells is None else home.now - timedelta(days=draw.integer(0, cells * 6 // 10)),
    )


def spoil(home: Home, draw: Draw, row: SmartDevice) -> SmartDevice:
    """The device, which may be offline, updating, nearly empty or locked against children."""
    days = KINDS[row.kind].cells
    if row.cells_since is not None and days is not None and draw.chance(0.2):
        row = replace(row, cells_since=home.now - timedelta(days=days - draw.integer(0, 30)))
    if row.kind in ("thermostat", "speaker", "plug") and draw.chance(0.3):
        row = replace(row, child_lock=True)
    if draw.chance(0.25):
        return replace(row, online=False)
    if row.latest != row.firmware and draw.chance(0.2):
        return replace(row, updating_until=home.now + timedelta(minutes=draw.integer(3, 40)))
    return row
