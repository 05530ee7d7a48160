"""Disagreement of reviewers: confused answers, outlier reviewers, and disputed units."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .agreement import ENOUGH, tables
from .coefficients import RESAMPLES, SEED, Counts, Estimate, compute_percentile_interval
from .label_matrix import Answers, Unit

MOST = 12  # units in the list


@dataclass(frozen=True)
class Pairs:
    """A cell of the confusion matrix: the count of pairs with both answers, and its share of the row's pairs."""

    count: int
    share: float


@dataclass(frozen=True)
class ReviewerAgreement:
    """One reviewer: how often others gave the same answer about the same units, and the most frequent confusion."""

    person: int
    units: int
    agrees: Estimate | None
    instead: tuple[str, str, int] | None = None


@dataclass(frozen=True)
class DisputedUnit:
    """A unit: the share of equal pairs of its answers, and the count of each answer."""

    unit: Unit
    agrees: float
    given: tuple[tuple[str, int], ...]


def select_shared_units(answers: Answers) -> dict[Unit, Mapping[int, int]]:
    """Return the units that two people or more answered."""
    return {unit: given for unit, given in answers.given.items() if len(given) > 1}


def confusion(answers: Answers) -> Counts:
    """Count pairs by the answers of both people, of shape (values, values).

    Each pair counts from both sides, so equal answers count twice.
    """
    size = len(answers.facet.values)
    total = np.zeros((size, size), dtype=np.int64)
    for table in tables(answers.given, answers.facet).values():
        total += table
    return total + total.T


def cells(counts: Counts) -> list[list[Pairs]]:
    """Return the counts as rows of pairs and shares."""
    return [
        [Pairs(int(one) // (2 if at == place else 1), float(one / max(1, row.sum()))) for place, one in enumerate(row)]
        for at, row in enumerate(counts)
    ]


def rank_reviewers_by_agreement(answers: Answers) -> list[ReviewerAgreement]:
    """Return all current members who share a unit, least agreement first; those with too few units come last."""
    each, said = defaultdict[int, list[float]](list), defaultdict[int, Counter[tuple[int, int]]](Counter)
    for given in select_shared_units(answers).values():
        for person, value in given.items():
            others = [other for who, other in given.items() if who != person]
            each[person].append(sum(other == value for other in others) / len(others))
            said[person].update((value, other) for other in others if other != value)
    found = [
        build_reviewer_agreement(person, each[person], said[person], answers.facet.values)
        for person in each
        if person > 0
    ]
    return sorted(found, key=lambda one: (one.agrees is None, one.agrees.value if one.agrees else 0.0, one.person))


def build_reviewer_agreement(
    person: int, agrees: Sequence[float], said: Counter[tuple[int, int]], values: Sequence[str]
) -> ReviewerAgreement:
    """Return a reviewer's figures; `agrees` has the share of others with the same answer, by unit."""
    most = min(said, key=lambda pair: (-said[pair], pair), default=None)
    instead = (values[most[0]], values[most[1]], said[most]) if most else None
    return ReviewerAgreement(person, len(agrees), mean(agrees) if len(agrees) >= ENOUGH else None, instead)


def mean(values: Iterable[float]) -> Estimate:
    """Return the mean of values between 0 and 1; the interval is by bootstrap, or None if all values are the same."""
    known = np.array([*values], dtype=np.float64)
    if known.max() == known.min():
        return Estimate(float(known.mean()))
    different, times = np.unique(known, return_counts=True)
    drawn = np.random.default_rng(SEED).multinomial(len(known), times / len(known), RESAMPLES)
    return Estimate(float(known.mean()), *compute_percentile_interval(drawn @ different / len(known)))


def find_disputed_units(answers: Answers, items: Iterable[int]) -> list[DisputedUnit]:
    """Return the units of these items with the least agreement, without those that people agree on."""
    here, found = set(items), list[DisputedUnit]()
    for unit, given in select_shared_units(answers).items():
        counts = Counter(given.values())
        equal = sum(count * (count - 1) for count in counts.values()) / (len(given) * (len(given) - 1))
        if unit[0] in here and equal < 1:
            counted = tuple((answers.facet.values[value], counts[value]) for value in sorted(counts))
            found.append(DisputedUnit(unit, equal, counted))
    return sorted(found, key=lambda one: (one.agrees, -sum(count for _, count in one.given), one.unit))[:MOST]
