"""Evaluation of alert rules on a metric: when a rule fires and clears. A step is judged only by the steps up to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

Comparison = Literal["above", "below", "risen", "fallen", "drifted", "dropped", "not_finite"]
Aggregate = Literal["last", "mean", "every"]
Value = tuple[int, float | None]  # a step and its value; None for NaN or infinity
EASE = 0.1  # hysteresis: share of the limit by which a value must be better before its rule clears
ODD = 0.5  # the limit of not_finite, between the scores of a finite value, 0, and of NaN or infinity, 1


@dataclass(frozen=True)
class Condition:
    """The condition under which a rule fires on a metric.

    `above` and `below` compare the value with the threshold; `risen`, `fallen` and `drifted` (either way) its change
    relative to the mean of the `first` values; `dropped` its distance below its best so far, in the metric's unit;
    `not_finite` needs no threshold. `aggregate` selects the last value, the mean of the last `over` values, or every
    one of them.
    """

    comparison: Comparison
    threshold: float = 0.0
    aggregate: Aggregate = "last"
    over: int = 1
    first: int = 1


@dataclass(frozen=True)
class StepScore:
    """One evaluated step: its value, and the score that is compared with the rule's limit (higher is worse)."""

    step: int
    value: float | None
    score: float


@dataclass(frozen=True)
class Episode:
    """A firing of a rule at step `first` with this value; `last` is the step at which it cleared, None until then."""

    first: int
    value: float | None
    last: int | None = None


def episodes(condition: Condition, values: Iterable[Value]) -> list[Episode]:
    """Return every firing of the condition, in order. A firing clears when the score is a tenth below the limit.

    `values` are in the order of their steps. None stands for NaN or infinity; only `not_finite` evaluates it.
    """
    limit = limit_of(condition)
    calm = limit - EASE * abs(limit)
    found: list[Episode] = []
    for one in score_steps(condition, values):
        fires = bool(found) and found[-1].last is None
        if not fires and one.score > limit:
            found.append(Episode(one.step, one.value))
        elif fires and one.score <= calm:
            found[-1] = Episode(found[-1].first, found[-1].value, one.step)
    return found


def limit_of(condition: Condition) -> float:
    """Return the score above which the rule fires."""
    if condition.comparison == "not_finite":
        return ODD
    return -condition.threshold if condition.comparison == "below" else condition.threshold


def score_steps(condition: Condition, values: Iterable[Value]) -> Iterator[StepScore]:
    """Yield the steps that can be evaluated: they have enough values before them and a reference value."""
    if condition.comparison == "not_finite":
        yield from (StepScore(step, value, float(value is None)) for step, value in values)
        return
    points = [(step, value) for step, value in values if value is not None]
    if condition.aggregate == "mean":
        scored = list(scores(condition, points, compute_moving_average(points, condition.over)))
    else:
        scored = list(scores(condition, points, points))
    yield from worst_of(scored, condition.over) if condition.aggregate == "every" else scored


def compute_moving_average(points: Sequence[tuple[int, float]], over: int) -> list[tuple[int, float]]:
    """Return the moving average over `over` values, from the first step that has that many."""
    window: deque[float] = deque(maxlen=over)
    found = []
    for step, value in points:
        window.append(value)
        if len(window) == over:
            found.append((step, fmean(window)))
    return found


def worst_of(scored: Sequence[StepScore], over: int) -> Iterator[StepScore]:
    """Yield each step with the lowest score of the last `over` steps: above the limit only if all of them are."""
    for end in range(over, len(scored) + 1):
        yield StepScore(scored[end - 1].step, scored[end - 1].value, min(one.score for one in scored[end - over : end]))


def scores(
    condition: Condition, points: Sequence[tuple[int, float]], looked: Iterable[tuple[int, float]]
) -> Iterator[StepScore]:
    """Yield the score of each value in `looked`; `points` has all values, whose first ones are the reference."""
    match condition.comparison:
        case "above":
            yield from (StepScore(step, value, value) for step, value in looked)
        case "below":
            yield from (StepScore(step, value, -value) for step, value in looked)
        case "dropped":
            best = float("-inf")
            for step, value in looked:
                best = max(best, value)
                yield StepScore(step, value, best - value)
        case _:
            yield from against_start(condition, points, looked)


def against_start(
    condition: Condition, points: Sequence[tuple[int, float]], looked: Iterable[tuple[int, float]]
) -> Iterator[StepScore]:
    """Yield the change relative to the mean of the first values; nothing until these are over or if the mean is 0."""
    if len(points) <= condition.first:
        return
    start = fmean(value for _, value in points[: condition.first])
    if start == 0:
        return
    for step, value in looked:
        if step > points[condition.first - 1][0]:
            change = (value - start) / abs(start)
            bad = {"risen": change, "fallen": -change}.get(condition.comparison, abs(change))
            yield StepScore(step, value, bad)


def measure_overfitting(held_out: Sequence[Value], training: Sequence[Value], over: int = 5) -> list[Value]:
    """Return how far each held-out evaluation is below the best so far, if training did not fall since then; else 0.

    The training reward at an evaluation is the mean over its step and up to `over` - 1 steps before it.
    """
    looks = [(step, value) for step, value in held_out if value is not None]
    trained = [(step, value) for step, value in training if value is not None]
    found: list[Value] = []
    best: tuple[float, float] | None = None
    for step, value in looks:
        recent = [reward for at, reward in trained if at <= step][-over:]
        now = fmean(recent) if recent else float("-inf")
        if best is None or value >= best[0]:
            best = (value, now)
        found.append((step, best[0] - value if now >= best[1] else 0.0))
    return found
