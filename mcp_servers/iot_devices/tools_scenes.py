"""Tools on scenes: levels for several devices, set all at once."""

from __future__ import annotations

from ..kit import ToolError
from .automation_cycles import require_no_loop
from .clock import current
from .parameters import ROWS, AskedDevice, DeviceRef, Limit, SceneLevel, SceneName, SceneRef
from .rules import act, at_level, reachable, require_level, require_no_child_lock, require_planned
from .server import server
from .state import Home, HomeScene, HomeSceneId, SceneAction

MOST_ACTIONS = 8


@server.read()
def list_home_scenes(home: Home, device: AskedDevice = None, limit: Limit = None) -> tuple[HomeScene, ...]:
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
