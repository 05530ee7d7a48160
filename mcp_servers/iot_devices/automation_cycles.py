"""Automations that would never end: whose scene keeps up the very thing that sets them off."""

from __future__ import annotations

from ..kit import ToolError
from .state import Comparison, Home, HomeScene, HomeSensor, SceneAction


def keeps_up(home: Home, sensor: HomeSensor, comparison: Comparison, threshold: int, action: SceneAction) -> bool:
    """Whether an action brings a room's temperature to where the automation is set off again."""
    device = home.devices[action.device]
    if sensor.quantity != "temperature" or device.kind != "thermostat" or device.room != sensor.room:
        return False
    target = action.level * 10
    return action.level > 0 and (target > threshold if comparison == "above" else target < threshold)


def require_no_loop(home: Home, sensor: HomeSensor, comparison: Comparison, threshold: int, scene: HomeScene) -> None:
    for action in scene.actions:
        if keeps_up(home, sensor, comparison, threshold, action):
            device = home.devices[action.device]
            raise ToolError(
                "automation_loop",
                f"{scene.name} sets {device.id} ({device.name}) to {action.level}, which keeps {sensor.name} "
                f"{comparison} {threshold}; choose another threshold or level.",
            )
