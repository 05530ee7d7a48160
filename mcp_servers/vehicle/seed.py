"""Seeded world of the car: parked, at a station, ready to go or driving, with all its past trips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import cast, get_start_time
from ..shared.places import Place, places
from .engine import (
    HOUR,
    MINUTE,
    STATIONS,
    USUAL_SPEED,
    distance,
    energy_for,
    is_fully_booked,
    is_open,
    minutes_for,
    price_of,
)
from .state import (
    Drive,
    DriverProfile,
    Garage,
    Refuel,
    Route,
    ServiceBooking,
    ServiceKind,
    Vehicle,
    VehicleId,
    VehicleTrip,
)

# The history of a car: its trips and refuels, planned backwards from its present state.

Id = TypeVar("Id", bound=str)


class Leg(NamedTuple):
    """A drive from one place to another, and the litres or kWh bought after it."""

    origin: Place
    target: Place
    metres: int
    speed: int
    end: datetime
    units: int


class DriveHistory(NamedTuple):
    """The drives of a car, oldest first, and the energy it began them with."""

    legs: list[Leg]
    energy: int


def plan_legs(
    draw: Draw, car: Vehicle, places: Sequence[Place], last: Place, now: datetime, count: int
) -> DriveHistory:
    """Plan `count` trips that end at `last` with the energy the car has, from the last to the first.

    Where the car would have had too much energy before a trip, the trip begins at a station that filled it.
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
    return DriveHistory(legs[::-1], energy)


def put_history(garage: Garage, draw: Draw, car: Vehicle, last: Place, count: int) -> Vehicle:
    """Add the past trips and refuels; return the car with its energy when bought and its present odometer."""
    legs, energy = plan_legs(draw, car, list(garage.places), last, garage.now, count)
    for number, leg in enumerate(legs):
        start = leg.end - minutes_for(leg.metres, leg.speed) * MINUTE
        garage.trips.put(
            VehicleTrip(
                id=derive_row_id(garage.trips, str(number)),
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
            id=derive_row_id(garage.refuels, str(number)),
            place=leg.target.id,
            place_name=leg.target.name,
            at=leg.end + 5 * MINUTE,
            units=leg.units,
            price=price,
            cost=leg.units * price,
        )
    )


Phase = Literal["parked", "open", "station", "running", "ready", "driving"]

MODELS: dict[Drive, tuple[str, ...]] = {
    "petrol": ("Corvo", "Lindo 1.2", "Marten", "Pico", "Strada 500", "Tern GT", "Vesper"),
    "electric": ("Aurora E", "Ion City", "Kite 4", "Luma", "Voltino", "Wren EV", "Zephyr 60"),
}
TANKS: dict[Drive, tuple[int, ...]] = {"petrol": (40, 45, 50, 60), "electric": (40, 52, 64, 77)}
PER_KM: dict[Drive, tuple[int, int]] = {"petrol": (52, 88), "electric": (140, 210)}
SERVICES: tuple[ServiceKind, ...] = ("inspection", "tyre change", "brake check", "cabin filter")


class Size(NamedTuple):
    """How many rows of each a world begins with."""

    places: int
    profiles: int
    trips: int
    bookings: int


SIZES = {
    "small": Size(places=10, profiles=3, trips=5, bookings=1),
    "default": Size(places=150, profiles=6, trips=120, bookings=2),
    "large": Size(places=1000, profiles=12, trips=3000, bookings=3),
}


def seed(seed: int, size: str) -> Garage:
    """Return the car of this seed; `size` is small, default or large."""
    garage, draw, scale = Garage(seed, get_start_time(seed)), Draw("vehicle", seed, size), SIZES[size]
    if size == "large":
        garage.trips.width = 6
    for place in places(seed, scale.places):
        garage.places.put(place)
    put_profiles(garage, draw, scale.profiles)
    phase: Phase = draw.choose_weighted(
        ("parked", "open", "station", "running", "ready", "driving"), (2, 2, 4, 3, 3, 5)
    )
    car = draw_car(draw, garage.vehicles.new_id(), phase)
    put_car(garage, draw, car, phase, scale.trips)
    put_bookings(garage, draw, scale.bookings)
    return garage


def put_profiles(garage: Garage, draw: Draw, count: int) -> None:
    """Add profiles for the user, others of the household, and a valet."""
    people = cast(garage.seed, count - 1)
    pins = draw.sample(range(10_000), count)
    for number, pin in enumerate(pins):
        valet = number == count - 1
        person = people[0 if valet else number]
        garage.profiles.put(
            DriverProfile(
                id=derive_row_id(garage.profiles, str(number)),
                name="Valet" if valet else person.name,
                driver=person.id,
                valet=valet,
                pin=f"{pin:04d}",
            )
        )


def draw_car(draw: Draw, id: VehicleId, phase: Phase) -> Vehicle:
    """Draw a car without a history and a position."""
    drive: Drive = draw.choice(("petrol", "electric"))
    tank = draw.choice(TANKS[drive]) * 1000
    low, high = (30, 88) if phase == "driving" else (10, 70) if phase == "station" else (12, 88)
    share = draw.integer(2, 6) if phase in ("parked", "ready") and draw.chance(0.3) else draw.integer(low, high)
    pressure = draw.choice((230, 240, 250))
    tyres = [pressure - draw.integer(0, 12) for _ in range(4)]
    if draw.chance(0.3):
        tyres[draw.integer(0, 3)] = draw.integer(150, 195)
    return Vehicle(
        id=id,
        model=draw.choice(MODELS[drive]),
        drive=drive,
        tank=tank,
        per_km=draw.integer(*PER_KM[drive]),
        bought_energy=0,
        bought_odometer=draw.integer(5, 90_000) * 1000,
        energy=tank * share // 100,
        odometer=0,
        latitude=0,
        longitude=0,
        place=None,
        tyres=tuple(tyres),
    )


def put_car(garage: Garage, draw: Draw, car: Vehicle, phase: Phase, trips: int) -> None:
    """Add the car in this phase, after its past trips."""
    known = list(garage.places)
    stations = [place for place in known if STATIONS.get(place.kind) == car.drive]
    here = draw.choice(stations if phase == "station" else known)
    car = put_history(garage, draw, car, here, trips)
    profile = draw.choice(list(garage.profiles)).id if phase != "parked" or draw.chance(0.5) else None
    going = phase in ("ready", "driving")
    target = draw.choice([place for place in known if place.id != here.id]) if going and draw.chance(0.7) else None
    car = replace(
        car,
        latitude=here.latitude,
        longitude=here.longitude,
        place=here.id,
        profile=profile,
        locked=phase == "parked",
        open=("tank flap",) if phase == "station" and draw.chance(0.6) else (),
        engine=phase in ("running", "ready", "driving"),
        gear="D" if going else "P",
        parking_brake=not going,
        destination=target.id if target else None,
    )
    if phase == "driving":
        car = set_off(garage, draw, car, here)
    garage.vehicles.put(car)
    if car.destination is not None:
        put_route(garage, here, garage.places[car.destination])


def set_off(garage: Garage, draw: Draw, car: Vehicle, here: Place) -> Vehicle:
    """Return the car some minutes after it left for the farthest place."""
    metres, _, target = max((distance(here.latitude, here.longitude, row), row.id, row) for row in garage.places)
    latest = minutes_for(metres, USUAL_SPEED) - 1
    start = garage.now - timedelta(minutes=draw.integer(0, min(5, latest)))
    trip = garage.trips.put(
        VehicleTrip(
            id=derive_row_id(garage.trips, "running"),
            destination=target.id,
            destination_name=target.name,
            distance=metres,
            latitude=here.latitude,
            longitude=here.longitude,
            started=start,
            since=start,
            speed=USUAL_SPEED,
        )
    )
    return replace(car, trip=trip.id, destination=target.id, place=None)


def put_route(garage: Garage, here: Place, target: Place) -> None:
    """Add the route to the car's destination, set ten minutes ago."""
    garage.routes.put(
        Route(
            id=garage.routes.new_id(),
            destination=target.id,
            destination_name=target.name,
            metres=distance(here.latitude, here.longitude, target),
            at=garage.now - timedelta(minutes=10),
        )
    )


def put_bookings(garage: Garage, draw: Draw, count: int) -> None:
    """Add services on coming days, each in an hour in which the workshop has a place."""
    for service in draw.sample(SERVICES, count):
        at = garage.now
        while at == garage.now or not is_open(at) or is_fully_booked(garage, at) or is_taken(garage, at):
            at = garage.now + timedelta(days=draw.integer(2, 60), hours=draw.integer(-1, 7))
        garage.bookings.put(ServiceBooking(id=derive_row_id(garage.bookings, service), service=service, at=at))


def is_taken(garage: Garage, at: datetime) -> bool:
    return any(abs(row.at - at) < HOUR for row in garage.bookings)
