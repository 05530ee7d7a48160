"""Two evaluations side by side, task by task: what flipped each way, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..reward.goal import goal_success
from .intervals import bootstrapped
from .protocol import Identity, Result, task_of
from .report import by_task

PERMUTATIONS = 9999
AT_ONCE = 1_000_000  # values that are held in memory for it


class NotComparable(Exception):
    """Two evaluations that say nothing about each other; says why."""


@dataclass(frozen=True, kw_only=True)
class Paired:
    """The tasks that both ran: the mean of each side, their difference and its 95% bootstrap interval over tasks.

    `gained` are worth more the second time and `lost` less. `p` is two-sided, of the sign-flip permutation test; where
    every task is passed or not, that is McNemar's exact test. `goals` is the goal success of each side, None where it
    was not measured.
    """

    items: int
    first: float
    second: float
    low: float
    high: float
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    p: float
    goals: tuple[float | None, float | None] = (None, None)

    @property
    def difference(self) -> float:
        return self.second - self.first


def require_comparable(first: Identity, second: Identity) -> None:
    """Raises NotComparable for other benchmarks, and for other versions or settings of one."""
    if (first.benchmark, first.version) != (second.benchmark, second.version):
        raise NotComparable(
            f"Scores of {first.benchmark} {first.version} and {second.benchmark} {second.version} do not compare: "
            "evaluate both models on one version."
        )
    other = [name for name in first.settings | second.settings if first.settings.get(name) != second.settings.get(name)]
    if other:
        raise NotComparable(
            f"Both ran {first.benchmark} with another {' and '.join(sorted(other))}, so their scores do not compare: "
            "evaluate both models with the same."
        )


def paired(first: Mapping[str, Result], second: Mapping[str, Result]) -> Paired:
    """Raises NotComparable when no task was run by both."""
    sides = [by_task(list(side.values())) for side in (first, second)]
    both = sorted(sides[0].keys() & sides[1].keys())
    if not both:
        raise NotComparable("There is no item that both evaluations have run.")
    before, after = ([mean(side[task]) for task in both] for side in sides)
    gains = [new - old for old, new in zip(before, after, strict=True)]
    low, high = bootstrapped(gains) if max(gains) > min(gains) else (gains[0], gains[0])
    return Paired(
        items=len(both),
        first=mean(before),
        second=mean(after),
        low=low,
        high=high,
        gained=tuple(task for task, gain in zip(both, gains, strict=True) if gain > 0),
        lost=tuple(task for task, gain in zip(both, gains, strict=True) if gain < 0),
        p=by_chance(gains),
        goals=(goals_of(first, both), goals_of(second, both)),
    )


def goals_of(results: Mapping[str, Result], tasks: Sequence[str]) -> float | None:
    """Return the goal success of the trials of these tasks."""
    some = set(tasks)
    return goal_success(one.rollout for one in results.values() if task_of(one.item) in some)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def by_chance(gains: Sequence[float]) -> float:
    """The p-value of gains that, under chance alone, had either sign with equal probability."""
    if set(gains) <= {-1.0, 0.0, 1.0}:
        return mcnemar(gains.count(1.0), gains.count(-1.0))
    if len(gains) == 1:
        return 1.0  # of one task, either sign is as far from nothing
    import numpy as np
    from scipy.stats import permutation_test

    test = permutation_test(
        (gains,),
        np.mean,
        permutation_type="samples",
        n_resamples=PERMUTATIONS,
        batch=max(1, AT_ONCE // len(gains)),
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def mcnemar(gained: int, lost: int) -> float:
    """The exact test: under chance alone, what flips goes either way with equal probability (McNemar 1947)."""
    from scipy.stats import binomtest  # half a second that only comparisons pay

    return float(binomtest(gained, gained + lost, 0.5).pvalue) if gained + lost else 1.0
