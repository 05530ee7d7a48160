"""Tools for scenes and for the automations that run them."""

from __future__ import annotations

from ..core import ToolError
from .clock import current, require_no_loop
from .engine import act, at_level, reachable, read_sensor, require_level, require_no_child_lock, require_planned
from .server import (
    ROWS,
    AutomationRef,
    Compared,
    DeviceParam,
    DeviceRef,
    Limit,
    SceneLevel,
    SceneName,
    SceneParam,
    SceneRef,
    SensorRef,
    Threshold,
    server,
)
from .state import SENSES, Home, HomeAutomation, HomeScene, HomeSceneId, SceneAction

# Tools for scenes, which set the levels of several devices together.

MOST_ACTIONS = 8


@server.read()
def list_home_scenes(home: Home, device: DeviceParam = None, limit: Limit = None) -> tuple[HomeScene, ...]:
    """List the scenes of the home with what they set."""
    rows = home.scenes if device is None else home.scenes.where(devices=home.devices[device].id)
    return tuple(rows)[: limit or ROWS]


@server.write(idempotent=True)
def create_home_scene(home: Home, name: SceneName) -> HomeScene:
    """Create a scene, which sets nothing yet."""
    known = [row for row in home.scenes if row.name.casefold() == name.casefold()]
    if known:
        raise ToolError("scene_exists", f"{known[0].id} is called {known[0].name}; use it or choose another name.")
    return home.scenes.put(HomeScene(id=home.scenes.new_id(), name=name))


@server.write(idempotent=True)
def add_scene_action(home: Home, scene: SceneRef, device: DeviceRef, level: SceneLevel) -> HomeScene:
    """Let a scene set one more device to a level."""
    found, row = home.scenes[scene], current(home, device)
    require_planned(row)
    if device in found.devices:
        raise ToolError("scene_conflict", f"{found.name} sets {device} ({row.name}) already; choose another device.")
    if len(found.actions) >= MOST_ACTIONS:
        raise ToolError("scene_full", f"{found.name} has {MOST_ACTIONS} actions, which is as many as it can have.")
    require_no_child_lock(home, row)
    require_level(row, level)
    changed = home.scenes.change(scene, actions=(*found.actions, SceneAction(device=device, level=level)))
    for rule in home.automations.where(scene=scene):
        require_no_loop(home, home.sensors[rule.sensor], rule.comparison, rule.threshold, changed)
    return changed


@server.write(idempotent=True)
def activate_home_scene(home: Home, scene: SceneRef) -> HomeScene:
    """Set all devices of a scene, or none of them when one refuses."""
    return activate(home, scene)


def activate(home: Home, id: HomeSceneId) -> HomeScene:
    scene = home.scenes[id]
    if not scene.actions:
        raise ToolError("empty_scene", f"{id} ({scene.name}) sets nothing yet; add an action first.")
    pairs = [(reachable(home, action.device), action.level) for action in scene.actions]
    if all(row.level == level for row, level in pairs):
        raise ToolError("scene_active", f"{id} ({scene.name}) is active already; nothing is left to do.")
    act(home, f"scene {scene.name}", *[at_level(home, row, level) for row, level in pairs if row.level != level])
    return scene


# Tools for automations, which run a scene when a sensor's value meets a condition.


@server.read()
def list_home_automations(home: Home, scene: SceneParam = None, limit: Limit = None) -> tuple[HomeAutomation, ...]:
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
    value = read_sensor(home, home.sensors[row.sensor]).value
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
