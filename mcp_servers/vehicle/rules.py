"""What must hold before the car does something, and the refusal when it does not."""

from __future__ import annotations

from ..kit import ToolError
from .motion import energy_now
from .state import Garage, Vehicle, VehicleTrip


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
    """The trip the car is on. Raises ToolError when it stands still."""
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
    """Raises ToolError unless so much energy is left besides the reserve, a twentieth of the tank."""
    car = garage.car
    if energy_now(garage) < needed + car.tank // 20:
        code, where = ("low_fuel", "fuel station") if car.drive == "petrol" else ("low_battery", "charging station")
        raise ToolError(code, f"There is not enough energy left for {what}; fill up at a {where} first.")
