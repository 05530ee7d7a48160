"""When a rule fires on a curve, and when it clears: what is said of a step depends on the steps up to it alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

Comparison = Literal["above", "below", "risen", "fallen", "drifted", "dropped", "not_finite"]
Aggregate = Literal["last", "mean", "every"]
Value = tuple[int, float | None]  # a step and what was told there; None for what was no number
EASE = 0.1  # share of the limit by which a value has to be better again before its rule clears
ODD = 0.5  # between the score of a number, 0, and that of none, 1


@dataclass(frozen=True)
class Condition:
    """What is wrong with a curve.

    `above` and `below` compare the value with the threshold; `risen`, `fallen` and `drifted` (either way) its change,
    as a share of the mean over the `first` values; `dropped` how far it is below its best until then, in its own unit;
    `not_finite` needs no threshold. Judged is the last value, the mean of the last `over`, or every one of these.
    """

    comparison: Comparison
    threshold: float = 0.0
    aggregate: Aggregate = "last"
    over: int = 1
    first: int = 1


@dataclass(frozen=True)
class Judged:
    """One step as a rule sees it: the value that was judged, how bad that is, and from where on it is too bad."""

    step: int
    value: float | None
    score: float


@dataclass(frozen=True)
class Episode:
    """That a rule fired at step `first` with this value; `last` is the step at which it cleared, None until then."""

    first: int
    value: float | None
    last: int | None = None


def episodes(condition: Condition, values: Iterable[Value]) -> list[Episode]:
    """Every time that the condition was met, in order. It clears once the value is better by a tenth of the limit.

    `values` are in the order of their steps. A value of None is no number, which only `not_finite` is about.
    """
    limit = limit_of(condition)
    calm = limit - EASE * abs(limit)
    found: list[Episode] = []
    for one in judged(condition, values):
        fires = bool(found) and found[-1].last is None
        if not fires and one.score > limit:
            found.append(Episode(one.step, one.value))
        elif fires and one.score <= calm:
            found[-1] = Episode(found[-1].first, found[-1].value, one.step)
    return found


def limit_of(condition: Condition) -> float:
    """The score above which the rule fires."""
    if condition.comparison == "not_finite":
        return ODD
    return -condition.threshold if condition.comparison == "below" else condition.threshold


def judged(condition: Condition, values: Iterable[Value]) -> Iterator[Judged]:
    """The steps that can be judged: there are enough values before, and something to compare them with."""
    if condition.comparison == "not_finite":
        yield from (Judged(step, value, float(value is None)) for step, value in values)
        return
    told = [(step, value) for step, value in values if value is not None]
    if condition.aggregate == "mean":
        scored = list(scores(condition, told, smoothed(told, condition.over)))
    else:
        scored = list(scores(condition, told, told))
    yield from worst_of(scored, condition.over) if condition.aggregate == "every" else scored


def smoothed(told: Sequence[tuple[int, float]], over: int) -> list[tuple[int, float]]:
    """The mean of each value and those before it, once there are `over` of them."""
    window: deque[float] = deque(maxlen=over)
    found = []
    for step, value in told:
        window.append(value)
        if len(window) == over:
            found.append((step, fmean(window)))
    return found


def worst_of(scored: Sequence[Judged], over: int) -> Iterator[Judged]:
    """Each step with the least score of the last `over`: above the limit only if all of these are."""
    for end in range(over, len(scored) + 1):
        yield Judged(scored[end - 1].step, scored[end - 1].value, min(one.score for one in scored[end - over : end]))


def scores(
    condition: Condition, told: Sequence[tuple[int, float]], looked: Iterable[tuple[int, float]]
) -> Iterator[Judged]:
    """How bad each value is that is looked at; `told` are all values, of which the first are the start."""
    match condition.comparison:
        case "above":
            yield from (Judged(step, value, value) for step, value in looked)
        case "below":
            yield from (Judged(step, value, -value) for step, value in looked)
        case "dropped":
            best = float("-inf")
            for step, value in looked:
                best = max(best, value)
                yield Judged(step, value, best - value)
        case _:
            yield from against_start(condition, told, looked)


def against_start(
    condition: Condition, told: Sequence[tuple[int, float]], looked: Iterable[tuple[int, float]]
) -> Iterator[Judged]:
    """The change since the start as a share of it; nothing is said until the start is over, nor of one that is 0."""
    if len(told) <= condition.first:
        return
    start = fmean(value for _, value in told[: condition.first])
    if start == 0:
        return
    for step, value in looked:
        if step > told[condition.first - 1][0]:
            change = (value - start) / abs(start)
            bad = {"risen": change, "fallen": -change}.get(condition.comparison, abs(change))
            yield Judged(step, value, bad)


def overfitted(held_out: Sequence[Value], training: Sequence[Value], over: int = 5) -> list[Value]:
    """How far each held-out look is below the best one before it, while training did not fall since that one; else 0.

    The training reward of a look is the mean over its step and the few before it.
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
