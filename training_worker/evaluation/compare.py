"""Paired comparison of two evaluations, task by task: flips in each direction, and their significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..reward.goal import goal_success
from .intervals import bootstrap_interval
from .protocol import Identity, Result, task_of
from .report import by_task

PERMUTATIONS = 9999
AT_ONCE = 1_000_000  # values of the permutation test in memory at a time


class NotComparable(Exception):
    """Two evaluations that cannot be compared; the message says why."""


@dataclass(frozen=True, kw_only=True)
class PairedComparison:
    """The tasks that both ran: the mean of each side, their difference and its 95% bootstrap interval over tasks.

    `gained` are the tasks with a higher value in the second evaluation, `lost` those with a lower one. `p` is the
    two-sided p-value of the sign-flip permutation test; for tasks that pass or fail, that is McNemar's exact test.
    `goals` is the goal success of each side, None where it was not measured.
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
    """Raise NotComparable where the benchmarks, or their versions or settings, differ."""
    if (first.benchmark, first.version) != (second.benchmark, second.version):
        raise NotComparable(
            f"Scores of {first.benchmark} {first.version} and {second.benchmark} {second.version} are not comparable: "
            "evaluate both models on one version."
        )
    other = [name for name in first.settings | second.settings if first.settings.get(name) != second.settings.get(name)]
    if other:
        raise NotComparable(
            f"Both ran {first.benchmark}, but with different {' and '.join(sorted(other))}, so their scores are not "
            "comparable: evaluate both models with the same settings."
        )


def compare_shared_tasks(first: Mapping[str, Result], second: Mapping[str, Result]) -> PairedComparison:
    """Compare two evaluations on the tasks that both ran. Raises NotComparable when there are none."""
    sides = [by_task(list(side.values())) for side in (first, second)]
    both = sorted(sides[0].keys() & sides[1].keys())
    if not both:
        raise NotComparable("There is no item that both evaluations have run.")
    before, after = ([mean(side[task]) for task in both] for side in sides)
    gains = [new - old for old, new in zip(before, after, strict=True)]
    low, high = bootstrap_interval(gains) if max(gains) > min(gains) else (gains[0], gains[0])
    return PairedComparison(
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
    """Return the p-value of gains under the null hypothesis that either sign is equally likely."""
    if set(gains) <= {-1.0, 0.0, 1.0}:
        return mcnemar(gains.count(1.0), gains.count(-1.0))
    if len(gains) == 1:
        return 1.0  # with one task, both signs are equally extreme
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
    """Return the p-value of McNemar's exact test: by chance, flips in either direction are equally likely (1947)."""
    from scipy.stats import binomtest  # takes half a second, so only comparisons import it

    return float(binomtest(gained, gained + lost, 0.5).pvalue) if gained + lost else 1.0
