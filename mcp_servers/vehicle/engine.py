"""Motion of the car, stations and the workshop, and the checks that raise the car's errors."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import lru_cache

from ..core import Draw, ToolError
from ..shared.places import Place, PlaceId, PlaceKind
from .state import Drive, Garage, Vehicle, VehicleTrip

# Position of the car and distances, in integers; a running trip advances with the clock.

USUAL_SPEED = 50
MINUTE = timedelta(minutes=1)


@lru_cache(maxsize=1 << 14)
def cosine(latitude: int) -> int:
    """Return 1000 times the cosine of a latitude, by Bhaskara's formula: cos d = (32400 - 4 d^2) / (32400 + d^2)."""
    degrees = abs(latitude) // 1_000_000
    return (32_400 - 4 * degrees**2) * 1000 // (32_400 + degrees**2)


def distance(latitude: int, longitude: int, place: Place) -> int:
    """Return the metres by road, along streets that run north and east; a micro-degree of latitude is 111 mm."""
    north = abs(place.latitude - latitude) * 111 // 1000
    east = abs(place.longitude - longitude) * 111 * cosine(place.latitude) // 1_000_000
    return max(100, north + east)


def minutes_for(metres: int, speed: int) -> int:
    """Return the minutes that these metres take at a speed in km/h, rounded up."""
    return -(-metres * 60 // (speed * 1000))


def driven(trip: VehicleTrip, now: datetime) -> int:
    """Return the metres of a running trip until now."""
    minutes = (now - trip.since) // MINUTE
    return min(trip.distance, trip.metres + minutes * trip.speed * 1000 // 60)


def energy_for(car: Vehicle, metres: int) -> int:
    return metres * car.per_km // 1000


def on_the_way(trip: VehicleTrip, place: Place, metres: int) -> tuple[int, int]:
    """Return the position of a trip to a place after these metres, in micro-degrees."""
    return (
        trip.latitude + (place.latitude - trip.latitude) * metres // trip.distance,
        trip.longitude + (place.longitude - trip.longitude) * metres // trip.distance,
    )


def end_trip(
    car: Vehicle, trip: VehicleTrip, place: Place, moment: datetime, metres: int
) -> tuple[Vehicle, VehicleTrip]:
    """Return the car and the trip after the trip has ended, at its destination or on the way there."""
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
    """Return the car as it is now, and the trip that it is on or has finished since it was last changed."""
    car = garage.car
    if car.trip is None:
        return car, None
    trip = garage.trips[car.trip]
    if driven(trip, garage.now) < trip.distance:
        return car, trip
    arrival = trip.since + minutes_for(trip.distance - trip.metres, trip.speed) * MINUTE
    return end_trip(car, trip, garage.places[trip.destination], arrival, trip.distance)


def settle(garage: Garage) -> Vehicle:
    """Return the car as it is now and, if it has arrived, store its arrival. Every write begins with this."""
    car, trip = present(garage)
    if trip is not None and trip.ended is not None:
        garage.trips.put(trip)
        garage.vehicles.put(car)
    return car


def energy_now(garage: Garage) -> int:
    """Return the remaining energy in millilitres or watt-hours."""
    car, trip = present(garage)
    return car.energy - (energy_for(car, driven(trip, garage.now)) if trip and trip.ended is None else 0)


def position(garage: Garage) -> tuple[int, int]:
    """Return the position of the car in micro-degrees."""
    car, trip = present(garage)
    if trip is not None and trip.ended is None:
        return on_the_way(trip, garage.places[trip.destination], driven(trip, garage.now))
    return car.latitude, car.longitude


# Stations and the workshop: prices, free pumps, opening hours.

STATIONS: dict[PlaceKind, Drive] = {"fuel station": "petrol", "charging station": "electric"}
PRICES: dict[Drive, tuple[int, int]] = {"petrol": (149, 199), "electric": (35, 79)}
OPENING, CLOSING = 8, 17
HOUR = timedelta(hours=1)


def price_of(garage: Garage, place: Place) -> int | None:
    """Return the price of a litre or kWh in cents, or None if the place is not a station."""
    drive = STATIONS.get(place.kind)
    return None if drive is None else price(garage.seed, place.id, drive)


@lru_cache(maxsize=1 << 14)
def price(seed: int, station: PlaceId, drive: Drive) -> int:
    return Draw("price", seed, station).integer(*PRICES[drive])


def is_busy(garage: Garage, place: Place) -> bool:
    """Return whether all pumps of a station are taken in the current ten minutes."""
    now = garage.now
    return is_busy_then(garage.seed, place.id, now.date(), now.hour, now.minute // 10)


@lru_cache(maxsize=1 << 14)
def is_busy_then(seed: int, station: PlaceId, day: date, hour: int, part: int) -> bool:
    return Draw("pumps", seed, station, day, hour, part).chance(0.15)


def is_open(moment: datetime) -> bool:
    """Return whether an hour in the workshop from this moment on lies within its opening hours."""
    last = moment.replace(hour=CLOSING, minute=0) - HOUR
    return moment.weekday() < 5 and moment.replace(hour=OPENING, minute=0) <= moment <= last


def is_fully_booked(garage: Garage, moment: datetime) -> bool:
    """Return whether the workshop has no place left in the hour of this moment."""
    return is_full_hour(garage.seed, moment.date(), moment.hour)


@lru_cache(maxsize=1 << 14)
def is_full_hour(seed: int, day: date, hour: int) -> bool:
    return Draw("workshop", seed, day, hour).chance(0.25)


# Checks that raise errors when the car is not ready for an action.


def require_engine(car: Vehicle, what: str) -> None:
    if not car.engine:
        raise ToolError("engine_off", f"The engine is off, and {what} needs it running; start the engine first.")


def require_engine_off(car: Vehicle, what: str) -> None:
    if car.engine:
        raise ToolError("engine_running", f"The engine is running, and {what} needs it off; stop the engine first.")


def require_standing(car: Vehicle) -> None:
    if car.trip is not None:
        raise ToolError("vehicle_moving", "The car is driving; stop driving first.")


def running_trip(garage: Garage, car: Vehicle) -> VehicleTrip:
    """Return the trip that the car is on; raise ToolError if it stands still."""
    if car.trip is None:
        raise ToolError("not_moving", "The car stands still; start driving first.")
    return garage.trips[car.trip]


def require_park(car: Vehicle) -> None:
    if car.gear != "P":
        raise ToolError("not_in_park", f"The car is in gear {car.gear}; shift to P first.")


def require_brake(car: Vehicle) -> None:
    if not car.parking_brake:
        raise ToolError("parking_brake_off", "The parking brake is released; engage it first.")


def require_closed(car: Vehicle) -> None:
    if car.open:
        raise ToolError("doors_open", f"Open: {', '.join(car.open)}; close that first.")


def require_unlocked(car: Vehicle) -> None:
    if car.locked:
        raise ToolError("vehicle_locked", "The car is locked; unlock it first.")


def require_no_valet(garage: Garage, what: str) -> None:
    if garage.in_valet_mode:
        raise ToolError("valet_mode", f"A valet's profile is active, in which {what}; select another driver's profile.")


def require_energy(garage: Garage, needed: int, what: str) -> None:
    """Raise ToolError unless this much energy is left besides the reserve, a twentieth of the tank."""
    car = garage.car
    if energy_now(garage) < needed + car.tank // 20:
        code, where = ("low_fuel", "fuel station") if car.drive == "petrol" else ("low_battery", "charging station")
        raise ToolError(code, f"There is not enough energy left for {what}; fill up at a {where} first.")
