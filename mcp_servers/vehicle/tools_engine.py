"""Tools on who drives, the engine, the gears and the parking brake."""

from __future__ import annotations

from ..kit import ToolError
from .features import FEATURES
from .motion import settle
from .parameters import BrakeTarget, GearTarget, ProfilePin, ProfileRef
from .rules import (
    require_brake,
    require_closed,
    require_energy,
    require_engine,
    require_park,
    require_standing,
    require_unlocked,
)
from .server import server
from .state import Garage
from .tools_look import get_vehicle_status, profile_view
from .views import DriverProfileView, VehicleStatus


@server.write(idempotent=True)
def select_driver_profile(garage: Garage, profile: ProfileRef, pin: ProfilePin) -> DriverProfileView:
    """Select the profile of who drives, given its PIN."""
    car, row = settle(garage), garage.profiles[profile]
    require_standing(car)
    if pin != row.pin:
        raise ToolError("wrong_pin", f"This is not the PIN of {profile} ({row.name}); ask for the right one.")
    if car.profile == profile:
        raise ToolError("profile_active", f"{profile} ({row.name}) is active already; nothing is left to do.")
    garage.vehicles.change(car.id, profile=profile)
    return profile_view(garage, row)


@server.write(idempotent=True)
def start_engine(garage: Garage) -> VehicleStatus:
    """Start the engine of an unlocked car in park with its parking brake engaged."""
    car = settle(garage)
    if car.engine:
        raise ToolError("engine_running", "The engine is running already; nothing is left to do.")
    require_unlocked(car)
    if car.profile is None:
        raise ToolError("no_driver", "No driver profile is active; select one with its PIN first.")
    if "tank flap" in car.open:
        raise ToolError("flap_open", "The tank flap is open; close it first.")
    require_brake(car)
    require_energy(garage, 0, "starting the engine")
    garage.vehicles.change(car.id, engine=True)
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def stop_engine(garage: Garage) -> VehicleStatus:
    """Stop the engine in park with the parking brake engaged. Climate and wipers go off."""
    car = settle(garage)
    if not car.engine:
        raise ToolError("engine_off", "The engine is off already; nothing is left to do.")
    require_standing(car)
    require_park(car)
    require_brake(car)
    left = tuple(row for row in car.features if not FEATURES[row.feature].needs_engine)
    garage.vehicles.change(car.id, engine=False, climate=None, features=left)
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def shift_gear(garage: Garage, gear: GearTarget) -> VehicleStatus:
    """Shift the gear of the standing car while its engine runs."""
    car = settle(garage)
    require_engine(car, "shifting")
    require_standing(car)
    if car.gear == gear:
        raise ToolError("already_in_gear", f"The car is in gear {gear} already; nothing is left to do.")
    if gear in ("D", "R"):
        require_closed(car)
    garage.vehicles.change(car.id, gear=gear)
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def set_parking_brake(garage: Garage, to: BrakeTarget) -> VehicleStatus:
    """Engage the standing car's parking brake, or release it while the engine runs."""
    car = settle(garage)
    require_standing(car)
    if car.parking_brake == (to == "engaged"):
        raise ToolError(f"already_{to}", f"The parking brake is {to} already; nothing is left to do.")
    if to == "released":
        require_engine(car, "releasing the parking brake")
    garage.vehicles.change(car.id, parking_brake=to == "engaged")
    return get_vehicle_status(garage)


@server.known_by_heart
def pins(garage: Garage) -> dict[tuple[str, str], str]:
    """The user knows the PIN of every driver profile."""
    return {(row.id, "pin"): row.pin for row in garage.profiles}
