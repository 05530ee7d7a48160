"""Tools that look: the car's status, the places around it, its drivers, its trips."""

from __future__ import annotations

from heapq import nsmallest
from itertools import islice

from .motion import distance, driven, energy_for, position, present
from .parameters import ROWS, AskedKind, AskedName, Limit, Since
from .server import server
from .service_stations import price_of
from .state import WINDOWS, DriverProfile, Garage, VehicleTrip
from .views import DriverProfileView, NearbyPlace, TripView, VehicleStatus


@server.read()
def get_vehicle_status(garage: Garage) -> VehicleStatus:
    """Get how the car is: engine, gear, doors, place, destination, energy, tyres."""
    car, trip = present(garage)
    running = trip if trip is not None and trip.ended is None else None
    metres = driven(running, garage.now) if running else 0
    energy = car.energy - energy_for(car, metres)
    coming = [row.at for row in garage.bookings if row.at > garage.now]
    return VehicleStatus(
        model=car.model,
        drive=car.drive,
        engine=car.engine,
        gear=car.gear,
        parking_brake=car.parking_brake,
        locked=car.locked,
        speed_kmh=running.speed if running else 0,
        driver=None if car.profile is None else garage.profiles[car.profile].name,
        place=None if running else car.place,
        destination=car.destination,
        metres_left=running.distance - metres if running else None,
        cruise_kmh=car.cruise,
        open=car.open or None,
        windows_open=tuple([name for name, open in zip(WINDOWS, car.windows, strict=True) if open]) or None,
        climate_celsius=car.climate,
        features=car.features or None,
        energy=energy // 1000,
        tank=car.tank // 1000,
        range_km=energy // car.per_km,
        odometer_km=(car.odometer + metres) // 1000,
        tyres_kpa=car.tyres,
        next_service=min(coming, default=None),
    )


@server.read()
def find_vehicle_places(
    garage: Garage, name: AskedName = None, kind: AskedKind = None, limit: Limit = None
) -> tuple[NearbyPlace, ...]:
    """Find places by name or kind, the nearest to the car first."""
    (latitude, longitude), wanted = position(garage), (name or "").strip().casefold()
    rows = garage.places if kind is None else garage.places.where(kind=kind)
    named = [row for row in rows if wanted in row.name.casefold()] if wanted else rows
    near = nsmallest(limit or ROWS, [(distance(latitude, longitude, row), row.id, row) for row in named])
    return tuple(
        [
            NearbyPlace(id=row.id, name=row.name, kind=row.kind, metres=metres, price=price_of(garage, row))
            for metres, _, row in near
        ]
    )


def profile_view(garage: Garage, row: DriverProfile) -> DriverProfileView:
    return DriverProfileView(id=row.id, name=row.name, valet=row.valet, active=row.id == garage.car.profile)


@server.read()
def list_driver_profiles(garage: Garage, limit: Limit = None) -> tuple[DriverProfileView, ...]:
    """List the driver profiles of the car."""
    return tuple(profile_view(garage, row) for row in islice(garage.profiles, limit or ROWS))


def trip_view(garage: Garage, row: VehicleTrip) -> TripView:
    metres = row.metres if row.ended else driven(row, garage.now)
    return TripView(
        id=row.id,
        destination_name=row.destination_name,
        started=row.started,
        ended=row.ended,
        metres=metres,
        metres_left=row.distance - metres,
        used=energy_for(garage.car, metres),
    )


@server.read()
def list_vehicle_trips(garage: Garage, since: Since = None, limit: Limit = None) -> tuple[TripView, ...]:
    """List the car's trips with distance and energy used, newest first."""
    _, latest = present(garage)
    rows = (row for row in reversed(list(garage.trips)) if since is None or row.started.date() >= since)
    found = [latest if latest and row.id == latest.id else row for row in islice(rows, limit or ROWS)]
    return tuple([trip_view(garage, row) for row in found])
