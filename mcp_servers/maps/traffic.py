"""How fast roads are at a time of day; the same whenever asked."""

from __future__ import annotations

from datetime import datetime

from .state import Mode, Road, RoadKind

RUSH_HOURS = (7, 8, 16, 17, 18)
BUSY_HOURS = (6, 9, 12, 13, 15, 19)
SLOW_HOURS = (*RUSH_HOURS, *BUSY_HOURS)
RUSH: dict[RoadKind, int] = {"motorway": 55, "main road": 50, "street": 75, "path": 100}
BUSY: dict[RoadKind, int] = {"motorway": 80, "main road": 75, "street": 90, "path": 100}


def flow(road: Road, moment: datetime) -> int:
    """The percentage of its speed a road allows: less on weekdays in the rush hours, a little different by road."""
    if moment.weekday() > 4 or moment.hour not in SLOW_HOURS:
        return 100
    usual = (RUSH if moment.hour in RUSH_HOURS else BUSY)[road.kind]
    return usual - (int(road.id[4:]) + 31 * moment.hour + 17 * moment.day) % 16


def seconds(road: Road, mode: Mode, moment: datetime | None) -> int:
    """How long the road takes; without a moment, on an empty road."""
    if mode != "driving":
        return on_foot(road.length) if mode == "walking" else max(1, road.length * 6 // 25)
    percent = 100 if moment is None else flow(road, moment)
    return max(1, road.length * 360 // (road.speed * percent))


def on_foot(length: int) -> int:
    """How long so many metres take at five kilometres an hour, in seconds."""
    return length * 18 // 25
