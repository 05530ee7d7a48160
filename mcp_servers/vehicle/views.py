"""Result types of the car's tools: its status, drivers, places, routes and trips."""

from __future__ import annotations

from ..core import Entity, Minute
from ..shared.places import PlaceId, PlaceKind
from .state import DoorName, Drive, DriverProfileId, FeatureLevel, Gear, VehicleRouteId, VehicleTripId, WindowName


class VehicleStatus(Entity):
    """How the car is now; energy and tank in litres or kWh."""

    model: str
    drive: Drive
    engine: bool
    gear: Gear
    parking_brake: bool
    locked: bool
    speed_kmh: int
    driver: str | None = None
    place: PlaceId | None = None
    destination: PlaceId | None = None
    metres_left: int | None = None
    cruise_kmh: int | None = None
    open: tuple[DoorName, ...] | None = None
    windows_open: tuple[WindowName, ...] | None = None
    climate_celsius: int | None = None
    features: tuple[FeatureLevel, ...] | None = None
    energy: int
    tank: int
    range_km: int
    odometer_km: int
    tyres_kpa: tuple[int, ...]
    next_service: Minute | None = None


class DriverProfileView(Entity):
    """A driver's profile without its PIN."""

    __label__ = "the driver profile {name}"
    id: DriverProfileId
    name: str
    valet: bool
    active: bool


class NearbyPlace(Entity):
    """A place, and how far it is from the car by road; price in cents for a litre or kWh."""

    __label__ = "{name}"
    id: PlaceId
    name: str
    kind: PlaceKind
    metres: int
    price: int | None = None


class RouteView(Entity):
    """The way to the destination, and whether the car has the energy for it."""

    __label__ = "the route to {destination_name}"
    id: VehicleRouteId
    destination_name: str
    metres: int
    minutes: int
    in_range: bool


class TripView(Entity):
    """A trip: metres so far, and the energy used in millilitres or watt-hours."""

    __label__ = "the trip to {destination_name}"
    id: VehicleTripId
    destination_name: str
    started: Minute
    ended: Minute | None = None
    metres: int
    metres_left: int
    used: int
