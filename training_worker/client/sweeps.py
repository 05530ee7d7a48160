"""Of a project: sweeps, planned, launched and stopped as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .resource import APIResource, Items, Json, Level


class Sweeps(APIResource):
    def sweeps(self) -> Items:
        return self.all("/sweeps")

    def sweep(self, number: int) -> Json:
        """With its members, and what their settings explain."""
        return dict(self.get(f"/sweeps/{number}"))

    def plan_sweep(self, vary: Mapping[str, Any], settings: Mapping[str, Any], **rest: Any) -> Json:
        """The members that `launch_sweep` would launch, what they would take, and when the last would be done."""
        return self.post("/sweeps/plan", {"vary": dict(vary), "settings": dict(settings), **rest})

    def launch_sweep(self, vary: Mapping[str, Any], settings: Mapping[str, Any], **rest: Any) -> Json:
        """Runs that differ in what `vary` says, such as {"seed": [0, 1, 2]}; `settings` are what they share."""
        return self.post("/sweeps", {"vary": dict(vary), "settings": dict(settings), **rest})

    def stop_sweep(self, number: int, level: Level = "after_step") -> Json:
        return self.post(f"/sweeps/{number}/stop", {"level": level})
