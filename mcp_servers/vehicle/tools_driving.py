"""Tools that drive: destination, setting off, stopping on the way, cruise control."""

from __future__ import annotations

from ..kit import ToolError
from .motion import USUAL_SPEED, distance, driven, ended, energy_for, energy_now, minutes_for, settle
from .parameters import DestinationRef, Speed
from .rules import require_energy, require_engine, require_standing, running_trip
from .server import server
from .state import Garage, Route, Vehicle, VehicleTrip
from .tools_look import trip_view
from .views import RouteView, TripView

VALET_SPEED, SAFE_SPEED, LOW_TYRE = 60, 90, 200


@server.write(idempotent=True)
def set_destination(garage: Garage, place: DestinationRef) -> RouteView:
    """Set where the standing car is to go."""
    car, target = settle(garage), garage.places[place]
    require_standing(car)
    if car.place == place:
        raise ToolError("already_there", f"The car is at {place} ({target.name}) already; choose another place.")
    if car.destination == place:
        raise ToolError("unchanged", f"{place} ({target.name}) is the destination already; start driving.")
    garage.vehicles.change(car.id, destination=place)
    metres = distance(car.latitude, car.longitude, target)
    route = garage.routes.put(
        Route(id=garage.routes.new_id(), destination=place, destination_name=target.name, metres=metres, at=garage.now)
    )
    return RouteView(
        id=route.id,
        destination_name=target.name,
        metres=metres,
        minutes=minutes_for(metres, USUAL_SPEED),
        in_range=energy_now(garage) >= energy_for(car, metres) + car.tank // 20,
    )


@server.write(idempotent=True)
def start_driving(garage: Garage) -> TripView:
    """Drive to the destination at 50 km/h. Needs the engine on, gear D, brake released, all closed."""
    car = settle(garage)
    require_engine(car, "driving")
    require_standing(car)
    if car.destination is None:
        raise ToolError("no_destination", "There is no destination; set one first.")
    require_ready(car)
    target = garage.places[car.destination]
    metres = distance(car.latitude, car.longitude, target)
    require_energy(garage, energy_for(car, metres), f"the {metres} metres to {target.name}")
    trip = garage.trips.put(
        VehicleTrip(
            id=garage.trips.new_id(),
            destination=target.id,
            destination_name=target.name,
            distance=metres,
            latitude=car.latitude,
            longitude=car.longitude,
            started=garage.now,
            since=garage.now,
            speed=USUAL_SPEED,
        )
    )
    garage.vehicles.change(car.id, trip=trip.id, place=None)
    return trip_view(garage, trip)


def require_ready(car: Vehicle) -> None:
    """Raises ToolError unless nothing holds the car back; its doors are closed, for only then it goes into gear D."""
    if car.gear != "D":
        raise ToolError("not_in_drive", f"The car is in gear {car.gear}; shift to D first.")
    if car.parking_brake:
        raise ToolError("parking_brake_on", "The parking brake is engaged; release it first.")
    if car.level("interior light"):
        raise ToolError("interior_light_on", "The interior light blinds the driver; turn it off first.")


@server.write(idempotent=True)
def stop_driving(garage: Garage) -> TripView:
    """Pull over on the way to the destination, which ends the trip."""
    car = settle(garage)
    trip = running_trip(garage, car)
    car, trip = ended(car, trip, garage.places[trip.destination], garage.now, driven(trip, garage.now))
    garage.vehicles.put(car)
    return trip_view(garage, garage.trips.put(trip))


@server.write(idempotent=True)
def set_cruise_control(garage: Garage, speed: Speed) -> TripView:
    """Set the speed of the driving car, which it keeps until it stops."""
    car = settle(garage)
    trip = running_trip(garage, car)
    if car.cruise == speed:
        raise ToolError("unchanged", f"Cruise control is set to {speed} km/h already; choose another speed.")
    if garage.in_valet_mode and speed > VALET_SPEED:
        raise ToolError("valet_mode", f"A valet drives at {VALET_SPEED} km/h at most; choose a lower speed.")
    if speed > SAFE_SPEED and min(car.tyres) < LOW_TYRE:
        raise ToolError(
            "low_tyre_pressure", f"A tyre has less than {LOW_TYRE} kPa; drive at {SAFE_SPEED} km/h at most."
        )
    if car.level("hazard lights"):
        raise ToolError("hazard_lights_on", "The hazard lights are on; turn them off before using cruise control.")
    trip = garage.trips.change(trip.id, metres=driven(trip, garage.now), since=garage.now, speed=speed)
    garage.vehicles.change(car.id, cruise=speed)
    return trip_view(garage, trip)
