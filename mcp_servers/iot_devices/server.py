"""Server object of the smart home and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core import Minute, ObservedField, Sensitive, Server
from ..shared.people import EmailAddress
from .seed import seed
from .state import (
    AlarmMode,
    Comparison,
    DeviceKind,
    GuestCodeId,
    HomeAlarmId,
    HomeAutomationId,
    HomeDoorId,
    HomeRoomId,
    HomeSceneId,
    HomeSensorId,
    Quantity,
    SmartDeviceId,
    SwitchableKind,
)

server = Server(
    "iot_devices", "Control a smart home: lights, climate, doors, alarm, vacuum, sensors, scenes and automations.", seed
)


ROWS = 5
SCENE_NAMES = [
    "breakfast", "dinner", "reading", "film night", "party", "good night", "wake up", "homework", "yoga", "romantic",
    "gaming", "cleaning", "bath time", "rainy day", "siesta", "late shift", "board games", "piano practice",
]  # fmt: skip
LEVELS = [0, 1, 5, 10, 15, 18, 19, 20, 21, 22, 23, 25, 30, 35, 40, 45, 50, 55, 60, 70, 75, 80, 90, 100]
THRESHOLDS = [0, 1, 2, 3, 5, 8, 10, 20, 35, 40, 45, 50, 55, 60, 100, 150, 160, 170, 180, 190, 200, 210, 220, 250]
NEW_CODES = [
    "286013", "391754", "406928", "518370", "672495", "730516", "824639", "947102", "159483", "063827", "274936",
    "358214",
]  # fmt: skip

CleanedRoom = Annotated[HomeRoomId, Field(description="Id of the room to clean")]
GroupRoom = Annotated[HomeRoomId, Field(description="Id of the room the devices are in")]
DeviceRef = Annotated[SmartDeviceId, Field(description="Id of a device of the home")]
SensorRef = Annotated[HomeSensorId, Field(description="Id of a sensor of the home")]
DoorRef = Annotated[HomeDoorId, Field(description="Id of a door or garage door")]
LockedDoor = Annotated[HomeDoorId, Field(description="Id of a door with a lock")]
AlarmRef = Annotated[HomeAlarmId, Field(description="Id of the alarm")]
SceneRef = Annotated[HomeSceneId, Field(description="Id of a scene")]
AutomationRef = Annotated[HomeAutomationId, Field(description="Id of an automation")]
GuestRef = Annotated[EmailAddress, Field(description="E-mail address of one of your guests")]
CodeRef = Annotated[GuestCodeId, Field(description="Id of a guest code")]

Power = Annotated[Literal["on", "off"], Field(description="On or off")]
GroupKind = Annotated[SwitchableKind, Field(description="Which devices of the room")]
Level = Annotated[
    int,
    Field(
        ge=0,
        le=100,
        description="Percent for lights, speakers and blinds, degrees Celsius for thermostats, minutes for sprinklers; "
        "0 is off or closed",
        examples=LEVELS,
    ),
]
SceneLevel = Annotated[
    int,
    Field(
        ge=0,
        le=100,
        description="Percent for lights, speakers and blinds, degrees Celsius for thermostats, 1 for a plug; "
        "0 is off or closed",
        examples=LEVELS,
    ),
]
DoorTarget = Annotated[Literal["open", "closed"], Field(description="Whether the door is to be open or closed")]
LockTarget = Annotated[Literal["locked", "unlocked"], Field(description="Whether the door is to be locked")]
ModeParam = Annotated[AlarmMode, Field(description="Off, armed with people at home, or armed with everybody away")]
HomePin = Annotated[str, Field(pattern=r"^[0-9]{4}$", description="PIN of the home, 4 digits"), Sensitive()]
UnlockPin = Annotated[
    str | None, Field(pattern=r"^[0-9]{4}$", description="PIN of the home, 4 digits, needed to unlock"), Sensitive()
]
ChildLockPin = Annotated[
    str | None,
    Field(pattern=r"^[0-9]{4}$", description="PIN of the home, 4 digits, needed for a device with a child lock"),
    Sensitive(),
]
NewCode = Annotated[
    str, Field(pattern=r"^[0-9]{6}$", description="Code for the guest, 6 digits", examples=NEW_CODES), Sensitive()
]
SceneName = Annotated[str, Field(max_length=40, pattern=r"\S", description="Name of the scene", examples=SCENE_NAMES)]
Compared = Annotated[Comparison, Field(description="Whether the sensor is to be above or below the threshold")]
Threshold = Annotated[
    int,
    Field(
        ge=-200,
        le=500,
        description="Threshold in the unit of the sensor, such as 215 for 21.5 degrees",
        examples=THRESHOLDS,
    ),
]
At = Annotated[Minute, Field(description="When, within 30 days, to the minute, such as 2026-03-05T10:00:00Z")]
CodeUntil = Annotated[
    Minute, Field(description="When the code expires, within 90 days, to the minute, such as 2026-03-05T10:00:00Z")
]

RoomParam = Annotated[HomeRoomId | None, Field(description="Only devices in this room id")]
SensorRoom = Annotated[HomeRoomId | None, Field(description="Only sensors in this room id")]
KindParam = Annotated[DeviceKind | None, Field(description="Only devices of this kind")]
QuantityParam = Annotated[Quantity | None, Field(description="Only sensors of this quantity")]
LinkParam = Annotated[Literal["online", "offline"] | None, Field(description="Only devices that are this")]
FloorParam = Annotated[
    int | None, Field(ge=0, le=9, description="Only rooms on this floor, 0 for the ground floor", examples=[0, 1, 2])
]
DeviceParam = Annotated[SmartDeviceId | None, Field(description="Only scenes that set this device id")]
SceneParam = Annotated[HomeSceneId | None, Field(description="Only automations that run this scene id")]
GuestParam = Annotated[
    str | None,
    Field(max_length=60, pattern=r"\S", description="Name of the guest, or a part of it"),
    ObservedField("name"),
]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20, 30]),
]
