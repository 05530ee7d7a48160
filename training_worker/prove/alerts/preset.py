"""A ready-made rule: what it watches, what it means when it fires, likely causes, what to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .rule_engine import Aggregate, Comparison, Condition

Group = Literal["Run status", "Learning", "Rollouts", "Reward hacking"]
Shows = Literal["", "worst", "best", "equal", "failing", "long", "short", "cut"]  # which rollouts illustrate it


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A ready-made rule. `metric` is `source.name`: points, held_out, patterns, derived, or run for the run itself.

    `unit` says what the threshold counts; `recommended` whether a project is offered it at first.
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
