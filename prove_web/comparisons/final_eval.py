"""Final held-out evaluations of runs: each against its own start, and paired with the baseline by conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from prove_web.experiments import chance
from prove_web.experiments.evaluation import Scale
from prove_web.experiments.models import Run
from training_worker.evaluation.intervals import bootstrap_interval

from .eval_rollouts import RolloutsUnavailable, shorts


@dataclass(frozen=True)
class Difference:
    """The mean difference over the common conversations, its 95 % interval, and their number.

    The x positions are on a scale of 0 to 100 that all differences of a table share.
    """

    value: float
    low: float
    high: float
    count: int
    zero_x: float = 0.0
    low_x: float = 0.0
    high_x: float = 0.0
    x: float = 0.0

    @property
    def verdict(self) -> str:
        return chance.verdict(self.low, self.high, self.count)

    @property
    def tone(self) -> str:
        return chance.tone(self.low, self.high, count=self.count)


@dataclass(frozen=True)
class Final:
    """A run's held-out reward before and after training, its gain, and its difference from the baseline.

    `why` says why there is no difference. `goals` is the share of its sampled rollouts after training that reached the
    goal, None where unknown.
    """

    run: Run
    before: float | None
    after: float | None
    gain: Difference | None
    against: Difference | None = None
    why: str = ""
    goals: float | None = None


def finals(runs: Sequence[Run], base: Run | None) -> list[Final]:
    found = [final(run, base) for run in runs]
    ends = [
        end
        for one in found
        for interval in (one.gain, one.against)
        if interval
        for end in (interval.low, interval.high)
    ]
    scale = Scale.from_values(ends)
    return [
        replace(one, gain=add_coordinates(one.gain, scale), against=add_coordinates(one.against, scale))
        for one in found
    ]


def final(run: Run, base: Run | None) -> Final:
    annotated: Any = run
    gain = None
    if annotated.held_difference is not None:
        gain = Difference(
            annotated.held_difference, annotated.held_low, annotated.held_high, int(annotated.held_examples or 0)
        )
    against, why = None, ""
    if base is not None and run != base:
        try:
            against = compute_paired_difference(run, base)
        except RolloutsUnavailable as reason:
            why = str(reason)
    return Final(run, annotated.held_before, annotated.held_after, gain, against, why, goal_share(run))


def goal_share(run: Run) -> float | None:
    """Return the share of sampled rollouts after training that reached the goal; None where it was not measured."""
    try:
        found = [one.goal_success for one in shorts(run, "after", "sampled") if one.goal_success is not None]
    except RolloutsUnavailable:
        return None
    return fmean(found) if found else None


def compute_paired_difference(run: Run, base: Run) -> Difference:
    """Return the difference of mean reward per conversation, sampled after training. Raises RolloutsUnavailable."""
    first, second = (totals(one) for one in (base, run))
    both = sorted(first.keys() & second.keys())
    if not both:
        raise RolloutsUnavailable(
            f"Runs {run.number} and {base.number} were evaluated on different held-out conversations because their "
            "datasets differ. Evaluate both runs on a benchmark instead."
        )
    gains = [second[name] - first[name] for name in both]
    low, high = bootstrap_interval(gains) if max(gains) > min(gains) else (gains[0], gains[0])
    return Difference(fmean(gains), low, high, len(gains))


def totals(run: Run) -> dict[str, float]:
    """Return the mean reward of each conversation over its scored rollouts. Raises RolloutsUnavailable."""
    found: dict[str, list[float]] = {}
    for one in shorts(run, "after", "sampled"):
        if one.total is not None:
            found.setdefault(one.example, []).append(one.total)
    return {name: fmean(values) for name, values in found.items()}


def add_coordinates(one: Difference | None, scale: Scale) -> Difference | None:
    if one is None:
        return None
    zero, low, high, x = (scale.x(value) for value in (0.0, one.low, one.high, one.value))
    return Difference(one.value, one.low, one.high, one.count, zero, low, high, x)
