"""State of the car: the vehicle, its driver profiles, places, routes, trips, refuels and service bookings."""

from __future__ import annotations

from typing import Literal, NamedTuple, NewType

from ..core import Entity, Minute, State, Table, table
from ..shared.people import EmailAddress
from ..shared.places import Place, PlaceId

FeatureName = Literal[
    "headlights", "fog lights", "hazard lights", "interior light", "wipers", "rear wiper", "defroster", "seat heating"
]


class Feature(NamedTuple):
    """The highest level of a feature, and whether it works with the engine running only."""

    highest: int
    needs_engine: bool


FEATURES: dict[FeatureName, Feature] = {
    "headlights": Feature(2, False),
    "fog lights": Feature(1, False),
    "hazard lights": Feature(1, False),
    "interior light": Feature(1, False),
    "wipers": Feature(3, True),
    "rear wiper": Feature(1, True),
    "defroster": Feature(1, True),
    "seat heating": Feature(3, True),
}


VehicleId = NewType("VehicleId", str)
DriverProfileId = NewType("DriverProfileId", str)
VehicleRouteId = NewType("VehicleRouteId", str)
VehicleTripId = NewType("VehicleTripId", str)
RefuelId = NewType("RefuelId", str)
ServiceBookingId = NewType("ServiceBookingId", str)

Drive = Literal["petrol", "electric"]
Gear = Literal["P", "R", "N", "D"]
DoorName = Literal[
    "front left door", "front right door", "rear left door", "rear right door", "trunk", "hood", "tank flap"
]
WindowName = Literal["front left", "front right", "rear left", "rear right"]
ServiceKind = Literal["inspection", "oil change", "tyre change", "brake check", "cabin filter"]

WINDOWS: tuple[WindowName, ...] = ("front left", "front right", "rear left", "rear right")


class FeatureLevel(Entity):
    """A feature that is on, and how far."""

    feature: FeatureName
    level: int


class Vehicle(Entity):
    """The car as it was last changed; `motion.present` says where it has got to since.

    Its energy, in millilitres or watt-hours, and its odometer, in metres, leave out the running trip; both began at
    what they were when it was bought. Tyre pressures are in kPa, windows in percent open, positions in micro-degrees.
    """

    __label__ = "the {model}"
    id: VehicleId
    model: str
    drive: Drive
    tank: int
    per_km: int
    bought_energy: int
    bought_odometer: int
    energy: int
    odometer: int
    latitude: int
    longitude: int
    place: PlaceId | None
    tyres: tuple[int, ...]
    engine: bool = False
    gear: Gear = "P"
    parking_brake: bool = True
    locked: bool = True
    open: tuple[DoorName, ...] = ()
    windows: tuple[int, ...] = (0, 0, 0, 0)
    climate: int | None = None
    features: tuple[FeatureLevel, ...] = ()
    profile: DriverProfileId | None = None
    destination: PlaceId | None = None
    trip: VehicleTripId | None = None
    cruise: int | None = None

    def level(self, feature: FeatureName) -> int:
        """Return the level of a feature, 0 if it is off."""
        return next((row.level for row in self.features if row.feature == feature), 0)


class DriverProfile(Entity):
    """Somebody who may drive; the PIN never leaves the car. In a valet's profile the car can do less."""

    __label__ = "the driver profile {name}"
    id: DriverProfileId
    name: str
    driver: EmailAddress
    valet: bool
    pin: str


class Route(Entity):
    """A destination that was set, and the metres to it from where the car stood."""

    __label__ = "the route to {destination_name}"
    id: VehicleRouteId
    destination: PlaceId
    destination_name: str
    metres: int
    at: Minute


class VehicleTrip(Entity):
    """A drive towards a destination, which need not have been reached; it runs until it has ended.

    `metres` were driven until `since`, and from then on at `speed` km/h; `used` is the energy it took once ended.
    """

    __label__ = "the trip to {destination_name}"
    id: VehicleTripId
    destination: PlaceId
    destination_name: str
    distance: int
    latitude: int
    longitude: int
    started: Minute
    since: Minute
    speed: int
    metres: int = 0
    used: int = 0
    ended: Minute | None = None


class Refuel(Entity):
    """Litres or kWh bought at a station; price and cost in cents."""

    __label__ = "the stop at {place_name}"
    id: RefuelId
    place: PlaceId
    place_name: str
    at: Minute
    units: int
    price: int
    cost: int


class ServiceBooking(Entity):
    """An hour in the workshop."""

    __label__ = "the {service}"
    id: ServiceBookingId
    service: ServiceKind
    at: Minute


class Garage(State):
    """One car and all around it."""

    vehicles: Table[VehicleId, Vehicle] = table("CAR", "vehicle")
    profiles: Table[DriverProfileId, DriverProfile] = table("CDRV", "driver profile")
    places: Table[PlaceId, Place] = table("PLC", "place", index=("kind",))
    routes: Table[VehicleRouteId, Route] = table("CROUT", "route")
    trips: Table[VehicleTripId, VehicleTrip] = table("CTRIP", "trip")
    refuels: Table[RefuelId, Refuel] = table("CREF", "stop for fuel")
    bookings: Table[ServiceBookingId, ServiceBooking] = table("CSVC", "service booking", index=("service",))

    @property
    def car(self) -> Vehicle:
        return next(iter(self.vehicles))

    @property
    def in_valet_mode(self) -> bool:
        id = self.car.profile
        return id is not None and self.profiles[id].valet
