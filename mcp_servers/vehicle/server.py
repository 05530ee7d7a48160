"""The server object of the car, and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core import Day, Minute, ObservedField, Sensitive, Server
from ..shared.places import PlaceId, PlaceKind
from .seed import seed
from .state import DoorName, DriverProfileId, FeatureName, Gear, ServiceKind, WindowName

server = Server(
    "vehicle", "Operate a car: engine, gears, doors, climate, navigation, driving, refuelling and service.", seed
)


ROWS = 5

DestinationRef = Annotated[PlaceId, Field(description="Id of the place to go to")]
ProfileRef = Annotated[DriverProfileId, Field(description="Id of a driver profile of the car")]
ProfilePin = Annotated[
    str, Field(pattern=r"^[0-9]{4}$", description="PIN of that driver profile, 4 digits"), Sensitive()
]
GearTarget = Annotated[Gear, Field(description="Gear: P park, R reverse, N neutral, D drive")]
BrakeTarget = Annotated[Literal["engaged", "released"], Field(description="Whether the parking brake is to hold")]
LockTarget = Annotated[Literal["locked", "unlocked"], Field(description="Whether the car is to be locked")]
Door = Annotated[DoorName, Field(description="Which door, trunk, hood or tank flap; the flap is also for charging")]
DoorTarget = Annotated[Literal["open", "closed"], Field(description="Whether it is to be open or closed")]
Window = Annotated[WindowName, Field(description="Which window")]
Percent = Annotated[
    int,
    Field(
        ge=0,
        le=100,
        description="How far open in percent, 0 is closed",
        examples=[0, 0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90, 100],
    ),
]
Celsius = Annotated[
    int,
    Field(
        ge=16,
        le=28,
        description="Temperature in degrees Celsius",
        examples=[16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28],
    ),
]
Feature = Annotated[FeatureName, Field(description="Which light, wiper or heating")]
FeatureTarget = Annotated[
    int,
    Field(
        ge=0,
        le=3,
        description="0 is off; headlights go to 2, wipers and seat heating to 3, all others to 1",
        examples=[0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 3],
    ),
]
Speed = Annotated[
    int,
    Field(
        ge=30,
        le=130,
        description="Speed in km/h",
        examples=[30, 35, 40, 45, 50, 55, 60, 65, 70, 80, 90, 100, 110, 120, 130],
    ),
]
Amount = Annotated[
    int,
    Field(
        ge=1,
        le=100,
        description="Litres of petrol, or kWh of electricity",
        examples=[3, 5, 6, 8, 10, 12, 15, 18, 20, 22, 25, 30, 35, 40, 45],
    ),
]
Service = Annotated[ServiceKind, Field(description="What is to be done")]
ServiceTime = Annotated[
    Minute, Field(description="Beginning, on a weekday from 8:00 to 16:00, to the minute, such as 2026-03-05T10:00:00Z")
]

NameParam = Annotated[
    str | None,
    Field(max_length=60, pattern=r"\S", description="Name of the place, or a part of it"),
    ObservedField("name"),
]
KindParam = Annotated[PlaceKind | None, Field(description="Only places of this kind")]
Since = Annotated[Day | None, Field(description="Only trips since this day, such as 2026-03-05")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20, 30]),
]
