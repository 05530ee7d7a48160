"""The home as a session finds it: rooms, doors, sensors, devices of which some do not work; scenes and guests."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from ..kit import Draw, fresh
from ..people import beginning, cast
from .device_types import SENSES, SENSOR_CELLS
from .devices import put_devices
from .names import ROOMS, SENSORS, SIDES
from .seed_automations import put_automations, put_codes, put_scenes, put_schedules
from .state import (
    AlarmMode,
    DoorState,
    Home,
    HomeAlarm,
    HomeDoor,
    HomeGuest,
    HomeHub,
    HomeRoom,
    HomeSensor,
    RobotVacuum,
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
    """The home of this seed; sizes are small, default and large."""
    home, draw, scale = Home(seed, beginning(seed)), Draw("iot_devices", seed, size), SIZES[size]
    if size == "large":
        home.devices.width = home.events.width = 6
    mode: AlarmMode = draw.weighted(("off", "home", "away"), (6, 1, 1))
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
    names = [f"{side}{room}" for side in SIDES for room in draw.shuffled(ROOMS)][:count]
    for place, name in enumerate(names):
        home.rooms.put(HomeRoom(id=fresh(home.rooms, name), name=name, floor=place * (2 + count // 10) // count))


def put_vacuum(home: Home, draw: Draw, docked: bool) -> None:
    """The vacuum on the ground floor, which may be cleaning for some minutes."""
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
    """Doors with locks, then garage doors, all locked or closed when the alarm is armed."""
    rooms = list(home.rooms)[: doors + garages + 2]
    for place, room in enumerate(draw.sample(rooms, doors + garages)):
        lockable = place < doors
        states: tuple[DoorState, ...] = ("locked", "closed", "open") if lockable else ("closed", "open")
        days = draw.integer(0, 200) if place == 0 or draw.chance(0.85) else draw.integer(272, 290)
        home.doors.put(
            HomeDoor(
                id=fresh(home.doors, room.name),
                name=f"{room.name} door" if lockable else f"{room.name} garage door",
                kind="door" if lockable else "garage door",
                room=room.id,
                state=states[0] if armed else draw.choice(states),
                cells_since=home.now - timedelta(days=days),
            )
        )


def put_sensors(home: Home, draw: Draw, count: int) -> None:
    """Sensors of each quantity in turn, no two of one quantity in a room; a few batteries are empty."""
    quantities, rooms = tuple(SENSES), draw.shuffled(list(home.rooms))
    for number in range(count):
        quantity = quantities[number % len(quantities)]
        room = rooms[number // len(quantities) % len(rooms)]
        days = SENSOR_CELLS + 10 if number > 2 and draw.chance(0.1) else draw.integer(0, SENSOR_CELLS - 50)
        home.sensors.put(
            HomeSensor(
                id=fresh(home.sensors, str(number)),
                name=f"{room.name} {SENSORS[quantity]}",
                quantity=quantity,
                room=room.id,
                cells_since=home.now - timedelta(days=days),
            )
        )
