"""What there is to know about one metric of a training step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Group = Literal["Reward", "Components", "Policy", "Rollouts", "Lengths", "Time", "Machine"]
Unit = Literal[
    "reward", "score", "share", "number", "nats", "tokens", "tokens/s", "groups", "s", "MB", "cores"
]  # a reward is at most 1.3, a score and a share at most 1


@dataclass(frozen=True)
class Metric:
    """A metric by the name it is stored under: its unit, how it is computed, and what is healthy.

    `better` says which way is good, where one is. A metric that a run does not have, or a step has nothing to say on,
    is not told at all.
    """

    name: str
    title: str
    group: Group
    unit: Unit
    formula: str
    healthy: str
    better: Literal["more", "less", ""] = ""
