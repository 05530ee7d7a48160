"""Client methods for a project's sweeps, which are planned, launched and stopped as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .resource import APIResource, Items, Json, Level


class Sweeps(APIResource):
    def sweeps(self) -> Items:
        return self.all("/sweeps")

    def sweep(self, number: int) -> Json:
        """Return a sweep with its members, and with the effects of their settings."""
        return dict(self.get(f"/sweeps/{number}"))

    def plan_sweep(self, vary: Mapping[str, Any], settings: Mapping[str, Any], **rest: Any) -> Json:
        """Return the members that `launch_sweep` would launch, their cost, and when the last would be done."""
        return self.post("/sweeps/plan", {"vary": dict(vary), "settings": dict(settings), **rest})

    def launch_sweep(self, vary: Mapping[str, Any], settings: Mapping[str, Any], **rest: Any) -> Json:
        """Launch runs that differ in `vary`, such as {"seed": [0, 1, 2]}, and share `settings`."""
        return self.post("/sweeps", {"vary": dict(vary), "settings": dict(settings), **rest})

    def stop_sweep(self, number: int, level: Level = "after_step") -> Json:
        return self.post(f"/sweeps/{number}/stop", {"level": level})
