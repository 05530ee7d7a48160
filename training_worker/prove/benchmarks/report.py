"""A report: accuracy of each category with its interval, what failed and how, and what was not run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from .protocol import Identity, Item, Result

Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Score:
    """Accuracy from 0 to 1, and its 95% interval."""

    accuracy: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Category:
    """`asked` items were to be run, `run` were; the score is over those, and None when there are none."""

    name: str
    asked: int
    run: int
    passed: int
    score: Score | None


@dataclass(frozen=True, kw_only=True)
class Report:
    """What an evaluation found. `overall` is None unless every category of the benchmark has a score."""

    identity: Identity
    categories: tuple[Category, ...]
    overall: Score | None
    failures: dict[str, int]
    not_run: dict[str, str]
    steps: int
    calls: int
    tokens: int
    seconds: float = field(compare=False)

    @property
    def whole(self) -> bool:
        """Whether every item that was asked for was run."""
        return all(one.run == one.asked for one in self.categories)


def report_of(
    identity: Identity,
    categories: Sequence[str],
    items: Sequence[Item],
    done: Mapping[str, Result],
    not_run: Mapping[str, str],
) -> Report:
    """The report on these items, in whatever order they ended."""
    rows = tuple(
        category_of(name, [item for item in items if item.category == name], done)
        for name in categories
        if any(item.category == name for item in items)
    )
    results = [done[item.id] for item in items if item.id in done]
    scores = [row.score for row in rows if row.score]
    failures = Counter(result.failure for result in results if not result.passed)
    return Report(
        identity=identity,
        categories=rows,
        overall=mean(scores) if len(scores) == len(categories) else None,
        failures=dict(sorted(failures.items(), key=lambda one: (-one[1], one[0]))),
        not_run=dict(sorted(not_run.items())),
        steps=sum(result.steps for result in results),
        calls=sum(len(result.rollout.calls) for result in results),
        tokens=sum(result.tokens for result in results),
        seconds=sum(result.seconds for result in results),
    )


def category_of(name: str, items: Sequence[Item], done: Mapping[str, Result]) -> Category:
    run = [done[item.id] for item in items if item.id in done]
    passed = sum(result.passed for result in run)
    return Category(name=name, asked=len(items), run=len(run), passed=passed, score=wilson(passed, len(run)))


def wilson(passed: int, run: int) -> Score | None:
    """A share with Wilson's interval (Wilson 1927); None of nothing."""
    if not run:
        return None
    share, z2 = passed / run, Z * Z
    middle = (share + z2 / (2 * run)) / (1 + z2 / run)
    half = Z * math.sqrt(share * (1 - share) / run + z2 / (4 * run * run)) / (1 + z2 / run)
    return Score(share, min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def mean(scores: Sequence[Score]) -> Score:
    """The unweighted mean; its interval from those of its parts, taken as independent (MOVER, Zou and Donner 2008)."""
    number = len(scores)
    share = sum(one.accuracy for one in scores) / number
    below = math.sqrt(sum((one.accuracy - one.low) ** 2 for one in scores)) / number
    above = math.sqrt(sum((one.high - one.accuracy) ** 2 for one in scores)) / number
    return Score(share, share - below, share + above)
