"""Tools on climate, lights, wipers and heatings."""

from __future__ import annotations

from ..kit import ToolError
from .features import FEATURES
from .motion import settle
from .parameters import Celsius, Feature, FeatureTarget
from .rules import require_energy, require_engine, require_standing
from .server import server
from .state import FeatureLevel, Garage, Vehicle
from .tools_body import HALF
from .tools_look import get_vehicle_status
from .views import VehicleStatus


@server.write(idempotent=True)
def set_vehicle_climate(garage: Garage, celsius: Celsius) -> VehicleStatus:
    """Set the temperature in the car while its engine runs. It goes off with the engine."""
    car = settle(garage)
    require_engine(car, "the climate")
    if car.climate == celsius:
        raise ToolError("unchanged", f"The climate is set to {celsius} degrees already; choose another temperature.")
    if any(open > HALF for open in car.windows):
        raise ToolError("windows_open", f"A window is more than {HALF}% open; close it first.")
    require_energy(garage, 0, "the climate")
    garage.vehicles.change(car.id, climate=celsius)
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def switch_vehicle_feature(garage: Garage, feature: Feature, level: FeatureTarget) -> VehicleStatus:
    """Set lights, wipers, defroster or seat heating to a level."""
    car = settle(garage)
    highest, needs_engine = FEATURES[feature]
    if level > highest:
        raise ToolError("out_of_range", f"The {feature} goes to {highest} at most; choose a lower level.")
    if needs_engine:
        require_engine(car, f"the {feature}")
    if car.level(feature) == level:
        raise ToolError("unchanged", f"The {feature} is at level {level} already; choose another level.")
    require_harmless(car, feature, level)
    others = [row for row in car.features if row.feature != feature]
    rows = [*others, FeatureLevel(feature=feature, level=level)] if level else others
    garage.vehicles.change(car.id, features=tuple(sorted(rows, key=lambda row: row.feature)))
    return get_vehicle_status(garage)


def require_harmless(car: Vehicle, feature: str, level: int) -> None:
    """Raises ToolError when one part of the car would be in the way of another, or blind its driver."""
    if feature == "fog lights" and level and not car.level("headlights"):
        raise ToolError("headlights_off", "Fog lights need the headlights; turn on the headlights first.")
    if feature == "headlights" and not level and car.level("fog lights"):
        raise ToolError("fog_lights_on", "The fog lights are on; turn them off before the headlights.")
    if feature == "wipers" and level and "hood" in car.open:
        raise ToolError("hood_open", "The wipers would hit the open hood; close it first.")
    if feature == "interior light" and level:
        require_standing(car)
