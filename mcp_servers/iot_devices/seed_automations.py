"""What a household has set up at the beginning: scenes, automations, schedules, codes for guests."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from ..kit import Draw, fresh
from .automation_cycles import keeps_up
from .device_types import KINDS, SENSES
from .names import SCENES
from .sensors import reading
from .state import Comparison, DeviceSchedule, GuestCode, Home, HomeAutomation, HomeScene, SceneAction

Id = TypeVar("Id", bound=str)


def put_scenes(home: Home, draw: Draw, count: int) -> None:
    """Scenes of which each sets some devices, and most of them devices that work."""
    usable = [row for row in home.devices if KINDS[row.kind].planned and not row.child_lock]
    working = [row for row in usable if row.online]
    for name in draw.sample(SCENES, count):
        rows = draw.sample(usable if draw.chance(0.2) else working, draw.integer(1, 4))
        levels = [0 if draw.chance(0.3) else draw.integer(row.low, row.high) for row in rows]
        actions = tuple(SceneAction(device=row.id, level=level) for row, level in zip(rows, levels, strict=True))
        home.scenes.put(HomeScene(id=fresh(home.scenes, name), name=name, actions=actions))


def put_automations(home: Home, draw: Draw, count: int) -> None:
    """Automations on sensors, most of whose thresholds are near to what is measured now; none keeps itself up."""
    scenes, sensors = list(home.scenes), list(home.sensors)
    taken: dict[tuple[str, str, str], None] = {}
    for number in range(count):
        scene, sensor = draw.choice(scenes), draw.choice(sensors)
        comparison: Comparison = "above" if draw.chance(0.5) else "below"
        _, low, high = SENSES[sensor.quantity]
        threshold = min(high, max(low, (reading(home, sensor).value or 0) + draw.integer(-4, 4)))
        loop = any(keeps_up(home, sensor, comparison, threshold, action) for action in scene.actions)
        key = (scene.id, sensor.id, comparison)
        if key in taken or loop:
            continue
        taken[key] = None
        home.automations.put(
            HomeAutomation(
                id=fresh(home.automations, str(number)),
                scene=scene.id,
                scene_name=scene.name,
                sensor=sensor.id,
                sensor_name=sensor.name,
                comparison=comparison,
                threshold=threshold,
            )
        )


def put_schedules(home: Home, draw: Draw, count: int) -> None:
    """Schedules to come, the first of which are due within the hour."""
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
                    id=fresh(home.schedules, str(number)),
                    device=row.id,
                    name=row.name,
                    at=home.now + timedelta(minutes=minutes),
                    level=level,
                    created=home.now - timedelta(days=draw.integer(1, 20)),
                )
            )


def put_codes(home: Home, draw: Draw, count: int) -> None:
    """Guests' codes, one for each of some guests; a few have expired."""
    doors, first = [row for row in home.doors if row.kind == "door"], draw.integer(0, 999)
    for place, guest in enumerate(draw.sample(list(home.guests), min(count, 4 * len(doors)))):
        door = doors[place % len(doors)]
        until = home.now + timedelta(days=draw.integer(-10, 60), minutes=draw.integer(1, 600))
        home.codes.put(
            GuestCode(
                id=fresh(home.codes, guest.id),
                door=door.id,
                door_name=door.name,
                guest=guest.id,
                guest_name=guest.name,
                code=f"{(first + 37 * place) % 1000:03d}{draw.integer(100, 999)}",
                until=until,
            )
        )
