"""Tools on automations: when a sensor says so, a scene is run."""

from __future__ import annotations

from ..kit import ToolError
from .automation_cycles import require_no_loop
from .device_types import SENSES
from .parameters import ROWS, AskedScene, AutomationRef, Compared, Limit, SceneRef, SensorRef, Threshold
from .sensors import reading
from .server import server
from .state import Home, HomeAutomation, HomeScene
from .tools_scenes import activate


@server.read()
def list_home_automations(home: Home, scene: AskedScene = None, limit: Limit = None) -> tuple[HomeAutomation, ...]:
    """List the automations of the home."""
    rows = home.automations if scene is None else home.automations.where(scene=home.scenes[scene].id)
    return tuple(rows)[: limit or ROWS]


@server.write(idempotent=True)
def create_home_automation(
    home: Home, scene: SceneRef, sensor: SensorRef, comparison: Compared, threshold: Threshold
) -> HomeAutomation:
    """Create an automation: a scene for when a sensor passes a threshold."""
    found, row = home.scenes[scene], home.sensors[sensor]
    _, low, high = SENSES[row.quantity]
    if not low <= threshold <= high:
        raise ToolError(
            "out_of_range", f"{sensor} ({row.name}) measures from {low} to {high}; choose a threshold in between."
        )
    if not found.actions:
        raise ToolError("empty_scene", f"{scene} ({found.name}) sets nothing yet; add an action first.")
    for known in home.automations.where(scene=scene):
        if (known.sensor, known.comparison) == (sensor, comparison):
            raise ToolError(
                "automation_exists",
                f"{known.id} runs {found.name} when {row.name} is {comparison} {known.threshold}; use it.",
            )
    require_no_loop(home, row, comparison, threshold, found)
    return home.automations.put(
        HomeAutomation(
            id=home.automations.new_id(),
            scene=scene,
            scene_name=found.name,
            sensor=sensor,
            sensor_name=row.name,
            comparison=comparison,
            threshold=threshold,
        )
    )


@server.write(idempotent=True)
def run_home_automation(home: Home, automation: AutomationRef) -> HomeScene:
    """Run an automation's scene, given that its sensor meets the condition now."""
    row = home.automations[automation]
    value = reading(home, home.sensors[row.sensor]).value
    if value is None:
        raise ToolError(
            "battery_low", f"{row.sensor} ({row.sensor_name}) has an empty battery; activate the scene instead."
        )
    if not (value > row.threshold if row.comparison == "above" else value < row.threshold):
        raise ToolError(
            "condition_not_met",
            f"{row.sensor_name} is at {value}, not {row.comparison} {row.threshold}; activate the scene instead.",
        )
    return activate(home, row.scene)
