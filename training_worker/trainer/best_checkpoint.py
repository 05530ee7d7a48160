"""Which step of a run was best on held-out worlds: its checkpoint is written at once, and outlives the others."""

from __future__ import annotations

from collections.abc import Mapping


class Best:
    """The policy that a run starts from does not count: it has no checkpoint."""

    def __init__(self) -> None:
        self.step, self.value, self.heard = 0, float("-inf"), 0

    def hear(self, step: int, value: float | None) -> bool:
        """Whether the value of this step is higher than all before; a step that was heard before is never."""
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
