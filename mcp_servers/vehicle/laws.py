"""Invariants of the car: they hold in every state that a session can reach."""

from __future__ import annotations

import re
from itertools import pairwise

from .engine import HOUR, STATIONS, energy_for, energy_now, is_open, present, price_of
from .server import server
from .state import FEATURES, Garage
from .tools import HALF, LOW_TYRE, SAFE_SPEED, VALET_SPEED


@server.invariant
def what_moves_is_ready_to(garage: Garage) -> bool:
    """A driving car has its engine on, D in, the brake off, all closed and the cabin dark, and it is at no place."""
    car = garage.car
    return car.trip is None or (
        car.engine
        and car.gear == "D"
        and not car.parking_brake
        and not car.open
        and not car.level("interior light")
        and car.place is None
    )


@server.invariant
def a_car_without_engine_is_safe(garage: Garage) -> bool:
    """With the engine off, the car is in park with the brake on; climate and all that needs the engine are off."""
    car = garage.car
    return car.engine or (
        car.gear == "P"
        and car.parking_brake
        and car.climate is None
        and not any(FEATURES[row.feature].needs_engine for row in car.features)
    )


@server.invariant
def an_engine_runs_for_somebody(garage: Garage) -> bool:
    """The engine runs for a driver who is known, in an unlocked car that is not being filled."""
    car = garage.car
    known = car.profile is None or car.profile in garage.profiles
    return known and (not car.engine or (car.profile is not None and not car.locked and "tank flap" not in car.open))


@server.invariant
def a_locked_car_is_closed(garage: Garage) -> bool:
    """A locked car has doors and windows closed, and what is open is open once, in park or neutral."""
    car = garage.car
    if car.locked and (car.open or any(car.windows)):
        return False
    return list(car.open) == sorted(set(car.open)) and (not car.open or car.gear in ("P", "N"))


@server.invariant
def the_odometer_is_the_sum_of_the_trips(garage: Garage) -> bool:
    """The odometer shows the metres of all trips that have ended, on top of those when the car was bought."""
    car, latest = present(garage)
    ended = [latest if latest is not None and row.id == latest.id else row for row in garage.trips]
    return car.odometer == car.bought_odometer + sum(row.metres for row in ended if row.ended)


@server.invariant
def energy_is_conserved(garage: Garage) -> bool:
    """The car's energy is its energy at purchase plus refuels, less what its trips used."""
    car = garage.car
    used = sum(row.used for row in garage.trips)
    return car.energy == car.bought_energy + 1000 * sum(row.units for row in garage.refuels) - used


@server.invariant
def the_tank_holds_what_is_in_it(garage: Garage) -> bool:
    """There is never less than nothing in the tank, nor more than it takes."""
    car = garage.car
    return 0 <= energy_now(garage) <= car.energy <= car.tank and 0 <= car.bought_energy <= car.tank


@server.invariant
def trips_follow_one_another(garage: Garage) -> bool:
    """Trips do not overlap, only the current one is unfinished, and none goes past its destination."""
    for before, after in pairwise(garage.trips):
        if before.ended is None or before.ended > after.started:
            return False
    for row in garage.trips:
        if (row.ended is None) != (row.id == garage.car.trip) or not 0 <= row.metres <= row.distance:
            return False
        if row.started > row.since or row.used != (energy_for(garage.car, row.metres) if row.ended else 0):
            return False
        if row.ended is not None and (row.ended < row.since or row.ended > garage.now):
            return False
    return True


@server.invariant
def the_car_is_where_its_last_trip_ended(garage: Garage) -> bool:
    """A standing car is at the destination of its last trip exactly if that trip went all the way."""
    car, last = garage.car, list(garage.trips)[-1]
    if car.trip is not None:
        return car.destination == last.destination and car.place is None
    if car.place is None:
        return last.metres < last.distance
    here = garage.places[car.place]
    return (
        car.place == last.destination
        and last.metres == last.distance
        and (here.latitude, here.longitude) == (car.latitude, car.longitude)
        and car.destination != car.place
    )


@server.invariant
def the_destination_was_set(garage: Garage) -> bool:
    """The car goes where the last route leads, or has no destination; every route leads to a known place."""
    routes, car = list(garage.routes), garage.car
    if car.destination is not None and (not routes or routes[-1].destination != car.destination):
        return False
    return all(row.at <= garage.now and row.metres >= 100 and row.destination in garage.places for row in routes)


@server.invariant
def cruise_control_drives(garage: Garage) -> bool:
    """Cruise control is on only while driving, at the speed of the trip, and never faster than is safe."""
    car = garage.car
    if car.cruise is None:
        return True
    limit = VALET_SPEED if garage.in_valet_mode else SAFE_SPEED if min(car.tyres) < LOW_TYRE else 130
    return car.trip is not None and garage.trips[car.trip].speed == car.cruise <= limit


@server.invariant
def lights_and_climate_fit(garage: Garage) -> bool:
    """Features are on within their range, fog lights with the headlights only, the climate with few windows open."""
    car = garage.car
    names = [row.feature for row in car.features]
    return (
        names == sorted(set(names))
        and all(1 <= row.level <= FEATURES[row.feature].highest for row in car.features)
        and (not car.level("fog lights") or car.level("headlights") > 0)
        and all(0 <= open <= 100 for open in car.windows)
        and (car.climate is None or (16 <= car.climate <= 28 and max(car.windows) <= HALF))
    )


@server.invariant
def fuel_is_bought_where_it_is_sold(garage: Garage) -> bool:
    """Every stop was at a station for this car's drive, and cost its price for each unit."""
    for row in garage.refuels:
        place = garage.places[row.place]
        if STATIONS.get(place.kind) != garage.car.drive or row.price != price_of(garage, place):
            return False
        if row.units < 1 or row.cost != row.units * row.price or row.place_name != place.name:
            return False
    return True


@server.invariant
def services_have_hours_of_their_own(garage: Garage) -> bool:
    """Services are within opening hours, an hour apart, each kind once to come; no electric car gets oil."""
    times = sorted(row.at for row in garage.bookings)
    coming = [row.service for row in garage.bookings if row.at > garage.now]
    return (
        all(is_open(at) for at in times)
        and all(after - before >= HOUR for before, after in pairwise(times))
        and len(set(coming)) == len(coming)
        and not (garage.car.drive == "electric" and "oil change" in coming)
    )


@server.invariant
def there_is_one_car_with_profiles(garage: Garage) -> bool:
    """There is one car, and its profiles have PINs of four digits, no two alike."""
    pins = [row.pin for row in garage.profiles]
    return len(garage.vehicles) == 1 and len(set(pins)) == len(pins) and all(re.fullmatch("[0-9]{4}", p) for p in pins)
