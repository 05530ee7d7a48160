"""The description of one metric of a training step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Group = Literal["Reward", "Components", "Policy", "Rollouts", "Lengths", "Time", "Machine"]
Unit = Literal[
    "reward", "score", "share", "number", "nats", "tokens", "tokens/s", "groups", "s", "MB", "cores"
]  # a reward is at most 1.3, a score or share at most 1


@dataclass(frozen=True)
class Metric:
    """A metric: its stored name, title, group, unit, formula and healthy values.

    `better` is the direction of improvement, if there is one. A metric without a value in a run or step is omitted.
    """

    name: str
    title: str
    group: Group
    unit: Unit
    formula: str
    healthy: str
    better: Literal["more", "less", ""] = ""
