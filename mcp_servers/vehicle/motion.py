"""Where the car is and how far it has driven: distances by integers, and trips that go on as time passes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from ..places import Place
from .state import Garage, Vehicle, VehicleTrip

USUAL_SPEED = 50
MINUTE = timedelta(minutes=1)


@lru_cache(maxsize=1 << 14)
def cosine(latitude: int) -> int:
    """A thousand times the cosine of a latitude, by Bhaskara's formula: cos d = (32400 - 4 d^2) / (32400 + d^2)."""
    degrees = abs(latitude) // 1_000_000
    return (32_400 - 4 * degrees**2) * 1000 // (32_400 + degrees**2)


def distance(latitude: int, longitude: int, place: Place) -> int:
    """Metres by road, which go along the streets north and east; a micro-degree of latitude is 111 mm."""
    north = abs(place.latitude - latitude) * 111 // 1000
    east = abs(place.longitude - longitude) * 111 * cosine(place.latitude) // 1_000_000
    return max(100, north + east)


def minutes_for(metres: int, speed: int) -> int:
    """Whole minutes, the last one begun, that so many metres take at a speed in km/h."""
    return -(-metres * 60 // (speed * 1000))


def driven(trip: VehicleTrip, now: datetime) -> int:
    """Metres of a running trip until now."""
    minutes = (now - trip.since) // MINUTE
    return min(trip.distance, trip.metres + minutes * trip.speed * 1000 // 60)


def energy_for(car: Vehicle, metres: int) -> int:
    return metres * car.per_km // 1000


def on_the_way(trip: VehicleTrip, place: Place, metres: int) -> tuple[int, int]:
    """Where a trip to a place has got to after so many metres, in micro-degrees."""
    return (
        trip.latitude + (place.latitude - trip.latitude) * metres // trip.distance,
        trip.longitude + (place.longitude - trip.longitude) * metres // trip.distance,
    )


def ended(car: Vehicle, trip: VehicleTrip, place: Place, moment: datetime, metres: int) -> tuple[Vehicle, VehicleTrip]:
    """Car and trip after the trip has ended, at its destination or on the way there."""
    arrived, used = metres == trip.distance, energy_for(car, metres)
    latitude, longitude = on_the_way(trip, place, metres)
    car = replace(
        car,
        trip=None,
        cruise=None,
        energy=car.energy - used,
        odometer=car.odometer + metres,
        latitude=latitude,
        longitude=longitude,
        place=trip.destination if arrived else None,
        destination=None if arrived else trip.destination,
    )
    return car, replace(trip, ended=moment, metres=metres, used=used)


def present(garage: Garage) -> tuple[Vehicle, VehicleTrip | None]:
    """The car as it is now, and the trip it is on, or has finished since it was last changed."""
    car = garage.car
    if car.trip is None:
        return car, None
    trip = garage.trips[car.trip]
    if driven(trip, garage.now) < trip.distance:
        return car, trip
    arrival = trip.since + minutes_for(trip.distance - trip.metres, trip.speed) * MINUTE
    return ended(car, trip, garage.places[trip.destination], arrival, trip.distance)


def settle(garage: Garage) -> Vehicle:
    """The car as it is now, with its arrival written down if it has arrived: how every write begins."""
    car, trip = present(garage)
    if trip is not None and trip.ended is not None:
        garage.trips.put(trip)
        garage.vehicles.put(car)
    return car


def energy_now(garage: Garage) -> int:
    """Millilitres or watt-hours that are left."""
    car, trip = present(garage)
    return car.energy - (energy_for(car, driven(trip, garage.now)) if trip and trip.ended is None else 0)


def position(garage: Garage) -> tuple[int, int]:
    """Where the car is, in micro-degrees."""
    car, trip = present(garage)
    if trip is not None and trip.ended is None:
        return on_the_way(trip, garage.places[trip.destination], driven(trip, garage.now))
    return car.latitude, car.longitude
