"""The best step of a run on held-out worlds: its checkpoint is written immediately and outlives the others."""

from __future__ import annotations

from collections.abc import Mapping


class Best:
    """The best evaluation so far. The initial policy does not count, because it has no checkpoint."""

    def __init__(self) -> None:
        self.step, self.value, self.heard = 0, float("-inf"), 0

    def record_value(self, step: int, value: float | None) -> bool:
        """Return whether this step has the highest value so far; False for a step that was recorded before."""
        if value is None or step <= self.heard:
            return False
        self.heard = step
        if value > self.value:
            self.step, self.value = step, value
        return self.step == step

    def state(self) -> dict[str, float]:
        return {"step": self.step, "value": self.value, "heard": self.heard} if self.step else {}

    def restore(self, state: Mapping[str, float]) -> None:
        if state:
            self.step, self.value, self.heard = int(state["step"]), state["value"], int(state["heard"])
