"""The past of a car: where it has been driven and where it was filled, told backwards from how it is today."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from ..kit import Draw, fresh
from ..places import Place
from .motion import MINUTE, distance, energy_for, minutes_for
from .service_stations import STATIONS, price_of
from .state import Garage, Refuel, Vehicle, VehicleTrip

Id = TypeVar("Id", bound=str)


class Leg(NamedTuple):
    """A drive from one place to another, and the litres or kWh bought after it."""

    origin: Place
    target: Place
    metres: int
    speed: int
    end: datetime
    units: int


class Past(NamedTuple):
    """The drives of a car, oldest first, and the energy it began them with."""

    legs: list[Leg]
    energy: int


def plan_legs(draw: Draw, car: Vehicle, places: Sequence[Place], last: Place, now: datetime, count: int) -> Past:
    """So many trips that end at a place with the energy the car has, planned from the last to the first.

    Where the car would have had too much energy before, it came from a station that filled it.
    """
    stations = [place for place in places if STATIONS.get(place.kind) == car.drive]
    energy, end, target, legs = car.energy, now - timedelta(minutes=draw.integer(20, 300)), last, list[Leg]()
    while len(legs) < count:
        spare, units = (energy - car.tank // 10) // 1000, 0
        if STATIONS.get(target.kind) == car.drive and spare > 5:
            units = spare if energy > car.tank * 6 // 10 else draw.integer(5, spare)
        energy -= units * 1000
        origin = target
        while origin.id == target.id:
            origin = draw.choice(stations if energy > car.tank * 6 // 10 else places)
        metres, speed = distance(origin.latitude, origin.longitude, target), draw.choice((30, 40, 50, 50, 60))
        legs.append(Leg(origin, target, metres, speed, end, units))
        energy += energy_for(car, metres)
        end -= timedelta(minutes=minutes_for(metres, speed) + draw.integer(20, 1_500))
        target = origin
    return Past(legs[::-1], energy)


def put_history(garage: Garage, draw: Draw, car: Vehicle, last: Place, count: int) -> Vehicle:
    """Write down trips and stops for fuel; the car as it was bought, and as it is after them."""
    legs, energy = plan_legs(draw, car, list(garage.places), last, garage.now, count)
    for number, leg in enumerate(legs):
        start = leg.end - minutes_for(leg.metres, leg.speed) * MINUTE
        garage.trips.put(
            VehicleTrip(
                id=fresh(garage.trips, str(number)),
                destination=leg.target.id,
                destination_name=leg.target.name,
                distance=leg.metres,
                latitude=leg.origin.latitude,
                longitude=leg.origin.longitude,
                started=start,
                since=start,
                speed=leg.speed,
                metres=leg.metres,
                used=energy_for(car, leg.metres),
                ended=leg.end,
            )
        )
        if leg.units:
            put_refuel(garage, leg, number)
    metres = sum(leg.metres for leg in legs)
    return replace(car, bought_energy=energy, odometer=car.bought_odometer + metres)


def put_refuel(garage: Garage, leg: Leg, number: int) -> None:
    price = price_of(garage, leg.target) or 0
    garage.refuels.put(
        Refuel(
            id=fresh(garage.refuels, str(number)),
            place=leg.target.id,
            place_name=leg.target.name,
            at=leg.end + 5 * MINUTE,
            units=leg.units,
            price=price,
            cost=leg.units * price,
        )
    )
