"""The groups of a step by their numbers alone: what they are ordered by, and what a step comes to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import fsum, isfinite, sqrt
from statistics import fmean
from typing import Any

from training_worker.prove.store.query import StepTable

from .groups import EQUAL


@dataclass(frozen=True)
class Stat:
    """A group of the step by its numbers alone."""

    number: int
    rewards: tuple[float, ...]
    size: int

    @cached_property
    def void(self) -> bool:
        return len(self.rewards) < self.size

    @cached_property
    def mean(self) -> float:
        return fmean(self.rewards) if self.rewards else 0.0

    @cached_property
    def spread(self) -> float:
        """Their deviation; `statistics` goes by fractions, which a large step has no time for."""
        return sqrt(fsum((reward - self.mean) ** 2 for reward in self.rewards) / max(1, len(self.rewards)))

    @property
    def silent(self) -> bool:
        return not self.void and self.spread <= EQUAL


def stats_of(table: StepTable) -> list[Stat]:
    found: dict[int, list[float | None]] = {}
    for number, reward in zip(table.column("group"), table.column("reward"), strict=True):
        found.setdefault(number, []).append(reward)
    return [
        Stat(number, tuple(one for one in rewards if one is not None and isfinite(one)), len(rewards))
        for number, rewards in found.items()
    ]


def ordered(stats: list[Stat], sort: str) -> list[Stat]:
    match sort:
        case "spread":
            return sorted(stats, key=lambda group: -group.spread)
        case "best":
            return sorted(stats, key=lambda group: -group.mean)
        case "worst":
            return sorted(stats, key=lambda group: group.mean)
    return stats


def summary(stats: list[Stat]) -> dict[str, Any]:
    scored = [group for group in stats if not group.void]
    rewards = [reward for group in scored for reward in group.rewards]
    silent = sum(group.silent for group in scored)
    return {
        "rollouts": sum(group.size for group in stats),
        "groups": len(stats),
        "void": len(stats) - len(scored),
        "scored": len(scored),
        "silent": silent,
        "silent_share": silent / len(scored) if scored else None,
        "mean": fmean(rewards) if rewards else None,
        "spread": fmean(group.spread for group in scored) if scored else None,
    }
