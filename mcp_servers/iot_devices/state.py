"""State of the smart home: rooms, devices and their log, scenes, automations, schedules and guest codes."""

from __future__ import annotations

from typing import Literal, NamedTuple, NewType

from ..core import Entity, Minute, State, Table, table
from ..shared.people import EmailAddress

DeviceKind = Literal["light", "plug", "thermostat", "speaker", "blinds", "camera", "sprinkler"]
SwitchableKind = Literal["light", "plug", "thermostat", "speaker", "camera", "sprinkler"]
Quantity = Literal["temperature", "humidity", "motion", "smoke"]
Unit = Literal["tenths of a degree", "percent", "movements", "ppm"]


class Kind(NamedTuple):
    """What a kind of device can do, and what its level counts.

    `cells` are the days its batteries last, none for a device on mains. What is `planned` can be scheduled and be
    a part of scenes.
    """

    unit: str = ""
    switched: bool = False
    levelled: bool = False
    planned: bool = True
    cells: int | None = None


KINDS: dict[DeviceKind, Kind] = {
    "light": Kind("percent", switched=True, levelled=True),
    "plug": Kind(switched=True),
    "thermostat": Kind("degrees", switched=True, levelled=True),
    "speaker": Kind("percent volume", switched=True, levelled=True),
    "blinds": Kind("percent open", levelled=True, cells=400),
    "camera": Kind(switched=True, planned=False, cells=180),
    "sprinkler": Kind("minutes", switched=True, levelled=True, planned=False),
}


class Sense(NamedTuple):
    """What a quantity is counted in, and the range that sensors have for it."""

    unit: Unit
    low: int
    high: int


SENSES: dict[Quantity, Sense] = {
    "temperature": Sense("tenths of a degree", -200, 500),
    "humidity": Sense("percent", 0, 100),
    "motion": Sense("movements", 0, 50),
    "smoke": Sense("ppm", 0, 500),
}
DOOR_CELLS, SENSOR_CELLS = 300, 700


HomeHubId = NewType("HomeHubId", str)
HomeAlarmId = NewType("HomeAlarmId", str)
RobotVacuumId = NewType("RobotVacuumId", str)
HomeRoomId = NewType("HomeRoomId", str)
HomeDoorId = NewType("HomeDoorId", str)
HomeSensorId = NewType("HomeSensorId", str)
SmartDeviceId = NewType("SmartDeviceId", str)
HomeEventId = NewType("HomeEventId", str)
HomeSceneId = NewType("HomeSceneId", str)
HomeAutomationId = NewType("HomeAutomationId", str)
DeviceScheduleId = NewType("DeviceScheduleId", str)
GuestCodeId = NewType("GuestCodeId", str)

AlarmMode = Literal["off", "home", "away"]
DoorKind = Literal["door", "garage door"]
DoorState = Literal["locked", "closed", "open"]
Comparison = Literal["above", "below"]


class HomeHub(Entity):
    """What the home as a whole has: its PIN, and the hours of the day between which it is to be quiet."""

    __label__ = "the home hub"
    id: HomeHubId
    pin: str
    quiet_from: int
    quiet_to: int


class HomeAlarm(Entity):
    """The alarm: off, or armed with people at home or away."""

    __label__ = "the home alarm"
    id: HomeAlarmId
    mode: AlarmMode


class RobotVacuum(Entity):
    """The vacuum, which lives on one floor: on its dock, or `cleaning` a room; `charge` in percent was at `changed`."""

    __label__ = "the vacuum"
    id: RobotVacuumId
    floor: int
    charge: int
    changed: Minute
    cleaning: HomeRoomId | None = None


class HomeRoom(Entity):
    """A room of the home."""

    __label__ = "the {name}"
    id: HomeRoomId
    name: str
    floor: int


class HomeDoor(Entity):
    """A door with a lock, or a garage door, which has none; it got new batteries at `cells_since`."""

    __label__ = "the {name}"
    id: HomeDoorId
    name: str
    kind: DoorKind
    room: HomeRoomId
    state: DoorState
    cells_since: Minute


class HomeSensor(Entity):
    """Something that measures one quantity in a room."""

    __label__ = "the {name}"
    id: HomeSensorId
    name: str
    quantity: Quantity
    room: HomeRoomId
    cells_since: Minute


class SmartDevice(Entity):
    """A device as it was when somebody last changed it; `clock.current` says what became of it since.

    `level` is 0 for off or closed, else from `low` to `high`; `usual` is what switching on goes back to. `meter` are
    the watt-minutes used until `changed`, `watts` what it takes at its highest level.
    """

    __label__ = "the {name}"
    id: SmartDeviceId
    name: str
    kind: DeviceKind
    room: HomeRoomId
    online: bool
    level: int
    usual: int
    low: int
    high: int
    watts: int
    meter: int
    changed: Minute
    firmware: str
    latest: str
    child_lock: bool = False
    cells_since: Minute | None = None
    updating_until: Minute | None = None


class EventPart(Entity):
    """What an event left one device at."""

    device: SmartDeviceId
    level: int
    meter: int


class HomeEvent(Entity):
    """A line of the home's log: what was done, to which devices."""

    __label__ = "the event {what}"
    id: HomeEventId
    at: Minute
    what: str
    parts: tuple[EventPart, ...]

    @property
    def devices(self) -> tuple[SmartDeviceId, ...]:
        return tuple(part.device for part in self.parts)


class SceneAction(Entity):
    """A level that a scene sets a device to."""

    device: SmartDeviceId
    level: int


class HomeScene(Entity):
    """Levels for several devices, set all at once."""

    __label__ = "the scene {name}"
    id: HomeSceneId
    name: str
    actions: tuple[SceneAction, ...] = ()

    @property
    def devices(self) -> tuple[SmartDeviceId, ...]:
        return tuple(action.device for action in self.actions)


class HomeAutomation(Entity):
    """A scene to be run when a sensor is above or below a threshold; the names are those of scene and sensor."""

    __label__ = "the automation for {scene_name}, {sensor_name} {comparison} {threshold}"
    id: HomeAutomationId
    scene: HomeSceneId
    scene_name: str
    sensor: HomeSensorId
    sensor_name: str
    comparison: Comparison
    threshold: int


class DeviceSchedule(Entity):
    """A level that a device goes to by itself at a moment; `name` is the device's."""

    __label__ = "the schedule of {name}"
    id: DeviceScheduleId
    device: SmartDeviceId
    name: str
    at: Minute
    level: int
    created: Minute


class HomeGuest(Entity):
    """Somebody who may be given a code."""

    __label__ = "{name}"
    id: EmailAddress
    name: str


class GuestCode(Entity):
    """The digits with which a guest unlocks a door until a moment; they never leave the home."""

    __label__ = "the code of {guest_name} for the {door_name}"
    id: GuestCodeId
    door: HomeDoorId
    door_name: str
    guest: EmailAddress
    guest_name: str
    code: str
    until: Minute


class Home(State):
    """One household's home."""

    hubs: Table[HomeHubId, HomeHub] = table("HHUB", "home hub")
    alarms: Table[HomeAlarmId, HomeAlarm] = table("HALRM", "alarm")
    vacuums: Table[RobotVacuumId, RobotVacuum] = table("HVAC", "vacuum")
    rooms: Table[HomeRoomId, HomeRoom] = table("HROOM", "room", index=("floor",))
    doors: Table[HomeDoorId, HomeDoor] = table("HDOOR", "door", index=("room",))
    sensors: Table[HomeSensorId, HomeSensor] = table("HSNSR", "sensor", index=("room", "quantity"))
    devices: Table[SmartDeviceId, SmartDevice] = table("SMDV", "device", index=("room", "kind"))
    events: Table[HomeEventId, HomeEvent] = table("HLOG", "event", index=("devices",))
    scenes: Table[HomeSceneId, HomeScene] = table("HSCN", "scene", index=("devices",))
    automations: Table[HomeAutomationId, HomeAutomation] = table("HAUTO", "automation", index=("scene", "sensor"))
    schedules: Table[DeviceScheduleId, DeviceSchedule] = table("HSCHD", "schedule", index=("device",))
    guests: Table[EmailAddress, HomeGuest] = table("", "guest")
    codes: Table[GuestCodeId, GuestCode] = table("HCODE", "guest code", index=("door", "guest"))

    @property
    def hub(self) -> HomeHub:
        return next(iter(self.hubs))

    @property
    def alarm(self) -> HomeAlarm:
        return next(iter(self.alarms))

    def live_codes(self, **wanted: str) -> list[GuestCode]:
        """Return the guest codes that have not expired, optionally only those of a door or a guest."""
        now, rows = self.now, self.codes.where(**wanted) if wanted else self.codes
        return [row for row in rows if row.until > now]
