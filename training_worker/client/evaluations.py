"""Client methods for a project's evaluations, leaderboards and alerts."""

from __future__ import annotations

from typing import Any

from .resource import APIResource, Items, Json


class Evaluations(APIResource):
    def evaluations(self, **query: Any) -> Items:
        return self.all("/evaluations", **query)

    def evaluation(self, number: int) -> Json:
        """Return an evaluation, with its report once it is done."""
        return dict(self.get(f"/evaluations/{number}"))

    def policies(self) -> list[Json]:
        """Return the values that `policy` accepts when a run or an evaluation is launched."""
        return list(self.get("/policies"))

    def launch_evaluation(self, benchmark: str, policy: str, **fields: Any) -> Json:
        return self.post("/evaluations", {"benchmark": benchmark, "policy": policy, **fields})

    def compare_evaluations(self, after: int, before: int) -> Json:
        """Compare two evaluations task by task: the paired difference, and the tasks that flipped each way."""
        return dict(self.get(f"/evaluations/{after}/compare/{before}"))

    def leaderboard(self, benchmark: str, sort: str = "") -> Json:
        return dict(self.get(f"/leaderboards/{benchmark}", sort=sort))

    def alerts(self, **query: Any) -> Items:
        return self.all("/alerts", **query)

    def change_alert(self, alert: int, do: str, **rest: Any) -> Json:
        """Change an alert; `do` is acknowledge, snooze (with `hours`) or reopen."""
        return self.post(f"/alerts/{alert}/change", {"do": do, **rest})
