"""Seeded initial state of the home: rooms, doors, sensors, devices (some out of order), scenes and guests."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import cast, get_start_time
from .clock import keeps_up
from .engine import read_sensor
from .state import (
    KINDS,
    SENSES,
    SENSOR_CELLS,
    AlarmMode,
    Comparison,
    DeviceKind,
    DeviceSchedule,
    DoorState,
    EventPart,
    GuestCode,
    Home,
    HomeAlarm,
    HomeAutomation,
    HomeDoor,
    HomeEvent,
    HomeGuest,
    HomeHub,
    HomeRoom,
    HomeScene,
    HomeSensor,
    Quantity,
    RobotVacuum,
    SceneAction,
    SmartDevice,
)

# Names of rooms and devices, and the watts that an appliance uses.

ROOMS = (
    "kitchen", "living room", "bedroom", "bathroom", "hallway", "study", "dining room", "nursery", "attic", "cellar",
    "laundry", "pantry", "library", "workshop", "winter garden", "playroom", "sauna", "gallery", "music room", "den",
)  # fmt: skip
SIDES = ("", "north ", "south ", "east ", "west ", "guest ")
DEVICES: dict[DeviceKind, tuple[str, ...]] = {
    "light": (
        "ceiling light", "floor lamp", "reading lamp", "wall light", "spotlight", "pendant light", "light strip",
        "lantern", "night light", "table lamp",
    ),
    "plug": ("kettle", "coffee maker", "fan", "television", "freezer", "heater", "printer", "aquarium", "toaster"),
    "thermostat": ("thermostat",),
    "speaker": ("speaker", "radio", "soundbar"),
    "blinds": ("blinds", "shutter", "curtain"),
    "camera": ("camera",),
    "sprinkler": ("sprinkler",),
}  # fmt: skip
SENSORS: dict[Quantity, str] = {
    "temperature": "thermometer",
    "humidity": "humidity sensor",
    "motion": "motion sensor",
    "smoke": "smoke detector",
}
WATTS = {
    "kettle": 2000, "coffee maker": 1200, "fan": 45, "television": 120, "freezer": 90, "heater": 1500, "printer": 30,
    "aquarium": 60, "toaster": 900, "thermostat": 800, "sprinkler": 40, "camera": 6, "speaker": 25, "radio": 10,
    "soundbar": 60,
}  # fmt: skip
LIGHT_WATTS = (5, 7, 9, 12, 15, 20, 40, 60)
SCENES = (
    "morning", "evening", "night", "away", "welcome", "movie", "focus", "relax", "guests", "sleep", "holiday",
    "sunrise", "sunset", "lunch", "storm", "energy saver", "cosy", "bright", "summer", "winter",
)  # fmt: skip
FIRMWARES = ("1.8.0", "2.0.4", "2.3.1", "2.4.0", "3.1.2", "3.2.0", "4.0.1", "4.1.7")


# Devices of a new home, most of which work, and the log of their installation.

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
    """Add some working devices, then others of any kind that may not work; the first room has two of the former."""
    rooms, names = list(home.rooms), dict[str, None]()
    kinds = [*FIRST, *draw.shuffle_items(OTHERS * (count // len(OTHERS) + 1))][:count]
    for place, kind in enumerate(kinds):
        room = rooms[place % 2] if place < len(FIRST) else draw.choice(rooms)
        what = draw.choice(DEVICES[kind])
        name, number = f"{room.name} {what}", 2
        while name in names:
            name, number = f"{room.name} {what} {number}", number + 1
        names[name] = None
        row = draw_device(home, draw, kind, what, room, name)
        row = home.devices.put(row if place < len(FIRST) else impair_device(home, draw, row))
        part = EventPart(device=row.id, level=row.level, meter=row.meter)
        home.events.put(HomeEvent(id=derive_row_id(home.events, name), at=row.changed, what="installed", parts=(part,)))


def draw_device(home: Home, draw: Draw, kind: DeviceKind, what: str, room: HomeRoom, name: str) -> SmartDevice:
    """Draw a working device, on or off."""
    low, high = draw.choice(RANGES.get(kind, ((1, 1),)))
    usual, firmware, cells = draw.integer(low, high), draw.integer(0, len(FIRMWARES) - 2), KINDS[kind].cells
    return SmartDevice(
        id=derive_row_id(home.devices, name),
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


def impair_device(home: Home, draw: Draw, row: SmartDevice) -> SmartDevice:
    """Return the device, perhaps made offline, updating, low on battery or child-locked."""
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


# What the household has set up at the beginning: scenes, automations, schedules and guest codes.

Id = TypeVar("Id", bound=str)


def put_scenes(home: Home, draw: Draw, count: int) -> None:
    """Add scenes that each set some devices, most of them only working devices."""
    usable = [row for row in home.devices if KINDS[row.kind].planned and not row.child_lock]
    working = [row for row in usable if row.online]
    for name in draw.sample(SCENES, count):
        rows = draw.sample(usable if draw.chance(0.2) else working, draw.integer(1, 4))
        levels = [0 if draw.chance(0.3) else draw.integer(row.low, row.high) for row in rows]
        actions = tuple(SceneAction(device=row.id, level=level) for row, level in zip(rows, levels, strict=True))
        home.scenes.put(HomeScene(id=derive_row_id(home.scenes, name), name=name, actions=actions))


def put_automations(home: Home, draw: Draw, count: int) -> None:
    """Add automations with thresholds near the current sensor values; none keeps its own condition true."""
    scenes, sensors = list(home.scenes), list(home.sensors)
    taken: dict[tuple[str, str, str], None] = {}
    for number in range(count):
        scene, sensor = draw.choice(scenes), draw.choice(sensors)
        comparison: Comparison = "above" if draw.chance(0.5) else "below"
        _, low, high = SENSES[sensor.quantity]
        threshold = min(high, max(low, (read_sensor(home, sensor).value or 0) + draw.integer(-4, 4)))
        loop = any(keeps_up(home, sensor, comparison, threshold, action) for action in scene.actions)
        key = (scene.id, sensor.id, comparison)
        if key in taken or loop:
            continue
        taken[key] = None
        home.automations.put(
            HomeAutomation(
                id=derive_row_id(home.automations, str(number)),
                scene=scene.id,
                scene_name=scene.name,
                sensor=sensor.id,
                sensor_name=sensor.name,
                comparison=comparison,
                threshold=threshold,
            )
        )


def put_schedules(home: Home, draw: Draw, count: int) -> None:
    """Add future schedules, about half of them due within the hour."""
    rows = [row for row in home.devices if KINDS[row.kind].planned and not row.child_lock and row.kind != "speaker"]
    taken: dict[tuple[str, int], None] = {}
    for number in range(count):
        row = draw.choice(rows)
        minutes = draw.integer(3, 50) if draw.chance(0.5) else draw.integer(51, 9_000)
        level = draw.choice((0, row.low, row.high))
        if (row.id, minutes) not in taken:
            taken[row.id, minutes] = None
            home.schedules.put(
                DeviceSchedule(
                    id=derive_row_id(home.schedules, str(number)),
                    device=row.id,
                    name=row.name,
                    at=home.now + timedelta(minutes=minutes),
                    level=level,
                    created=home.now - timedelta(days=draw.integer(1, 20)),
                )
            )


def put_codes(home: Home, draw: Draw, count: int) -> None:
    """Add one code each for some of the guests; a few codes have expired."""
    doors, first = [row for row in home.doors if row.kind == "door"], draw.integer(0, 999)
    for place, guest in enumerate(draw.sample(list(home.guests), min(count, 4 * len(doors)))):
        door = doors[place % len(doors)]
        until = home.now + timedelta(days=draw.integer(-10, 60), minutes=draw.integer(1, 600))
        home.codes.put(
            GuestCode(
                id=derive_row_id(home.codes, guest.id),
                door=door.id,
                door_name=door.name,
                guest=guest.id,
                guest_name=guest.name,
                code=f"{(first + 37 * place) % 1000:03d}{draw.integer(100, 999)}",
                until=until,
            )
        )


QUIET_HOURS = ((22, 7), (22, 7), (23, 6), (21, 8), (13, 15), (9, 10), (8, 10))


class Size(NamedTuple):
    """How many rows of each a world begins with."""

    rooms: int
    doors: int
    garages: int
    sensors: int
    devices: int
    scenes: int
    automations: int
    schedules: int
    guests: int
    codes: int


SIZES = {
    "small": Size(4, 2, 1, 4, 8, 3, 3, 3, 4, 2),
    "default": Size(18, 6, 2, 30, 100, 16, 20, 24, 24, 14),
    "large": Size(110, 30, 6, 220, 1300, 20, 200, 300, 150, 90),
}


def seed(seed: int, size: str) -> Home:
    """Return the home for this seed; `size` is small, default or large."""
    home, draw, scale = Home(seed, get_start_time(seed)), Draw("iot_devices", seed, size), SIZES[size]
    if size == "large":
        home.devices.width = home.events.width = 6
    mode: AlarmMode = draw.choose_weighted(("off", "home", "away"), (6, 1, 1))
    pin, (start, end) = f"{draw.integer(0, 9_999):04d}", draw.choice(QUIET_HOURS)
    home.hubs.put(HomeHub(id=home.hubs.new_id(), pin=pin, quiet_from=start, quiet_to=end))
    home.alarms.put(HomeAlarm(id=home.alarms.new_id(), mode=mode))
    put_rooms(home, draw, scale.rooms)
    put_vacuum(home, draw, mode == "away")
    put_doors(home, draw, scale.doors, scale.garages, mode != "off")
    put_sensors(home, draw, scale.sensors)
    put_devices(home, draw, scale.devices)
    put_scenes(home, draw, scale.scenes)
    put_automations(home, draw, scale.automations)
    put_schedules(home, draw, scale.schedules)
    for person in cast(seed, scale.guests + 1)[1:]:
        home.guests.put(HomeGuest(id=person.id, name=person.name))
    put_codes(home, draw, scale.codes)
    return home


def put_rooms(home: Home, draw: Draw, count: int) -> None:
    names = [f"{side}{room}" for side in SIDES for room in draw.shuffle_items(ROOMS)][:count]
    for place, name in enumerate(names):
        home.rooms.put(
            HomeRoom(id=derive_row_id(home.rooms, name), name=name, floor=place * (2 + count // 10) // count)
        )


def put_vacuum(home: Home, draw: Draw, docked: bool) -> None:
    """Add the vacuum on the ground floor, which may have been cleaning for some minutes."""
    room = None if docked or draw.chance(0.6) else draw.choice(home.rooms.where(floor=0)).id
    home.vacuums.put(
        RobotVacuum(
            id=home.vacuums.new_id(),
            floor=0,
            charge=draw.integer(28 if room else 15, 100),
            changed=home.now - timedelta(minutes=draw.integer(0, 15)),
            cleaning=room,
        )
    )


def put_doors(home: Home, draw: Draw, doors: int, garages: int, armed: bool) -> None:
    """Add doors with locks, then garage doors; all are locked or closed when the alarm is armed."""
    rooms = list(home.rooms)[: doors + garages + 2]
    for place, room in enumerate(draw.sample(rooms, doors + garages)):
        lockable = place < doors
        states: tuple[DoorState, ...] = ("locked", "closed", "open") if lockable else ("closed", "open")
        days = draw.integer(0, 200) if place == 0 or draw.chance(0.85) else draw.integer(272, 290)
        home.doors.put(
            HomeDoor(
                id=derive_row_id(home.doors, room.name),
                name=f"{room.name} door" if lockable else f"{room.name} garage door",
                kind="door" if lockable else "garage door",
                room=room.id,
                state=states[0] if armed else draw.choice(states),
                cells_since=home.now - timedelta(days=days),
            )
        )


def put_sensors(home: Home, draw: Draw, count: int) -> None:
    """Add sensors of each quantity in turn, no two of one quantity in a room; a few batteries are empty."""
    quantities, rooms = tuple(SENSES), draw.shuffle_items(list(home.rooms))
    for number in range(count):
        quantity = quantities[number % len(quantities)]
        room = rooms[number // len(quantities) % len(rooms)]
        days = SENSOR_CELLS + 10 if number > 2 and draw.chance(0.1) else draw.integer(0, SENSOR_CELLS - 50)
        home.sensors.put(
            HomeSensor(
                id=derive_row_id(home.sensors, str(number)),
                name=f"{room.name} {SENSORS[quantity]}",
                quantity=quantity,
                room=room.id,
                cells_since=home.now - timedelta(days=days),
            )
        )
