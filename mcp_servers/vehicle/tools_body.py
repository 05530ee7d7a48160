"""Tools on doors, locks and windows."""

from __future__ import annotations

from ..kit import ToolError
from .motion import present, settle
from .parameters import Door, DoorTarget, LockTarget, Percent, Window
from .rules import (
    require_closed,
    require_engine,
    require_engine_off,
    require_no_valet,
    require_park,
    require_standing,
    require_unlocked,
)
from .server import server
from .state import WINDOWS, DoorName, Garage, Vehicle
from .tools_look import get_vehicle_status
from .views import VehicleStatus

FASTEST_WITH_WINDOWS, HALF = 100, 50


@server.write(idempotent=True)
def move_vehicle_door(garage: Garage, door: Door, to: DoorTarget) -> VehicleStatus:
    """Open or close a door, trunk, hood or tank flap of the parked car."""
    car = settle(garage)
    if (door in car.open) == (to == "open"):
        raise ToolError(f"already_{to}", f"The {door} is {to} already; nothing is left to do.")
    if to == "closed":
        garage.vehicles.change(car.id, open=tuple(name for name in car.open if name != door))
        return get_vehicle_status(garage)
    require_openable(garage, car, door)
    garage.vehicles.change(car.id, open=tuple(sorted((*car.open, door))))
    return get_vehicle_status(garage)


def require_openable(garage: Garage, car: Vehicle, door: DoorName) -> None:
    require_standing(car)
    require_unlocked(car)
    require_park(car)
    if door in ("trunk", "hood"):
        require_no_valet(garage, "trunk and hood stay closed")
    if door in ("hood", "tank flap"):
        require_engine_off(car, f"opening the {door}")


@server.write(idempotent=True)
def set_vehicle_lock(garage: Garage, to: LockTarget) -> VehicleStatus:
    """Lock the car when all is closed and its engine off, or unlock it."""
    car = settle(garage)
    if car.locked == (to == "locked"):
        raise ToolError(f"already_{to}", f"The car is {to} already; nothing is left to do.")
    if to == "locked":
        require_engine_off(car, "locking")
        require_closed(car)
        if any(car.windows):
            raise ToolError("windows_open", "A window is open, and closes only while the engine runs; close it first.")
    garage.vehicles.change(car.id, locked=to == "locked")
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def set_vehicle_window(garage: Garage, window: Window, percent: Percent) -> VehicleStatus:
    """Open or close a window while the engine runs. Above 100 km/h they only close."""
    car, place = settle(garage), WINDOWS.index(window)
    require_engine(car, "moving a window")
    if car.windows[place] == percent:
        raise ToolError("unchanged", f"The {window} window is {percent}% open already; choose another percentage.")
    _, trip = present(garage)
    if percent > car.windows[place] and trip is not None and trip.speed > FASTEST_WITH_WINDOWS:
        raise ToolError("too_fast", f"At {trip.speed} km/h windows only close; slow down first.")
    if car.climate is not None and percent > HALF:
        raise ToolError("climate_on", f"While the climate is on windows open up to {HALF}%; choose less.")
    windows = tuple(percent if number == place else open for number, open in enumerate(car.windows))
    garage.vehicles.change(car.id, windows=windows)
    return get_vehicle_status(garage)
