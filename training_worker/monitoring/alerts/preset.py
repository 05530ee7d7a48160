"""The preset alert rule: its metric and condition, its meaning, likely causes and remedies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .rule_engine import Aggregate, Comparison, Condition

Group = Literal["Run status", "Learning", "Rollouts", "Reward hacking"]
Shows = Literal["", "worst", "best", "equal", "failing", "long", "short", "cut"]  # which rollouts illustrate it


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A preset alert rule. `metric` is `source.name`; sources are points, held_out, patterns, derived and run.

    `unit` is the unit of the threshold; `recommended` rules are preselected for a new project.
    """

    key: str
    title: str
    group: Group
    metric: str
    means: str
    causes: tuple[str, ...]
    tries: tuple[str, ...]
    comparison: Comparison = "above"
    threshold: float = 0.0
    aggregate: Aggregate = "last"
    over: int = 1
    unit: str = "share"
    shows: Shows = "worst"
    recommended: bool = True

    @property
    def condition(self) -> Condition:
        return Condition(self.comparison, self.threshold, self.aggregate, self.over)
