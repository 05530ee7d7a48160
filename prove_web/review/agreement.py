"""Agreement of reviewers: by question, by pair of reviewers, and over time, with the number of units behind each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import combinations

import numpy as np
from django.utils import timezone

from .coefficients import Counts, Estimate, ac1, alpha, has_variation, interpret_coefficient, kappa, percent
from .label_matrix import NO, Answers, Facet, Unit

ENOUGH = 10  # with fewer units, a figure would say next to nothing


@dataclass(frozen=True)
class Figures:
    """Agreement over `units` that at least two people answered, in `answers` by `people`.

    The four estimates are None if there are too few units, or if they are undefined. If all answers are the same,
    nothing shows whether people can tell the cases apart: then all four are None and `unmeasurable` says why.
    """

    units: int
    answers: int
    people: int
    percent: Estimate | None = None
    kappa: Estimate | None = None
    alpha: Estimate | None = None
    ac1: Estimate | None = None
    unmeasurable: str = ""

    @property
    def enough(self) -> bool:
        return self.units >= ENOUGH

    @property
    def word(self) -> str:
        """The usual word for AC1, which is defined even where the other estimates are not."""
        return interpret_coefficient(self.ac1.value) if self.ac1 else ""


@dataclass(frozen=True)
class Pair:
    """Two reviewers over the units that both answered."""

    one: int
    other: int
    figures: Figures


@dataclass(frozen=True)
class Period:
    """A day or week that begins on `start`."""

    start: date
    figures: Figures


def figures(answers: Answers, units: Iterable[Unit] | None = None) -> Figures:
    """Return the agreement on a facet, over all or these units. Kappa is the mean over pairs of people (Light 1971)."""
    taken = {unit: answers.given[unit] for unit in (answers.given if units is None else units)}
    shared = {unit: given for unit, given in taken.items() if len(given) > 1}
    seen = {
        "units": len(shared),
        "answers": sum(map(len, shared.values())),
        "people": len({one for given in shared.values() for one in given}),
    }
    if len(shared) < ENOUGH:
        return Figures(**seen)
    counts = count_answers(taken.values(), len(answers.facet.values))
    if why := without_variation(counts, answers.facet):
        return Figures(**seen, unmeasurable=why)
    level = answers.facet.level
    return Figures(
        **seen,
        percent=percent(counts),
        alpha=alpha(counts, level),
        ac1=ac1(counts),
        kappa=lights(shared, answers.facet),
    )


def without_variation(counts: Counts, facet: Facet) -> str:
    """Return why agreement can't be measured if all answers are the same; empty if they vary."""
    if has_variation(counts):
        return ""
    answer = facet.values[int(counts.sum(axis=0).argmax())]
    if facet.tag:
        return "Not measurable: nobody ticked it." if answer == NO else "Not measurable: everybody always ticked it."
    return f"Not measurable: every answer is “{answer}”."


def count_answers(given: Iterable[Mapping[int, int]], size: int) -> Counts:
    """Count how many people gave each answer about each unit."""
    return np.array([np.bincount([*one.values()], minlength=size) for one in given], dtype=np.int64)


def lights(shared: Mapping[Unit, Mapping[int, int]], facet: Facet) -> Estimate | None:
    """Return Cohen's kappa of two people; of more, the mean over pairs with enough units, without an interval."""
    found = [each for table in tables(shared, facet).values() if (each := kappa_of(table, facet))]
    if len(found) == 1:
        return found[0]
    return Estimate(sum(one.value for one in found) / len(found)) if found else None


def kappa_of(table: Counts, facet: Facet) -> Estimate | None:
    return kappa(table, facet.level) if table.sum() >= ENOUGH else None


def tables(given: Mapping[Unit, Mapping[int, int]], facet: Facet) -> dict[tuple[int, int], Counts]:
    """Return for each pair of people how often one gave the answer of the row and the other that of the column."""
    size, found = len(facet.values), dict[tuple[int, int], Counts]()
    for of_unit in given.values():
        for one, other in combinations(sorted(of_unit), 2):
            table = found.setdefault((one, other), np.zeros((size, size), dtype=np.int64))
            table[of_unit[one], of_unit[other]] += 1
    return found


def pairs(answers: Answers) -> list[Pair]:
    """Return every two current members who answered the same units."""
    here = {unit: {who: value for who, value in given.items() if who > 0} for unit, given in answers.given.items()}
    return [
        Pair(one, other, of_pair(table, answers.facet))
        for (one, other), table in sorted(tables(here, answers.facet).items())
    ]


def of_pair(table: Counts, facet: Facet) -> Figures:
    units = int(table.sum())
    seen = {"units": units, "answers": 2 * units, "people": 2}
    if units < ENOUGH:
        return Figures(**seen)
    size = len(facet.values)
    unit = np.eye(size, dtype=np.int64)
    rows, columns = np.nonzero(table)
    counts = np.repeat(unit[rows] + unit[columns], table[rows, columns], axis=0)
    if why := without_variation(counts, facet):
        return Figures(**seen, unmeasurable=why)
    return Figures(
        **seen,
        percent=percent(counts),
        kappa=kappa(table, facet.level),
        alpha=alpha(counts, facet.level),
        ac1=ac1(counts),
    )


def over_time(answers: Answers, by: str = "week") -> list[Period]:
    """Return the agreement by the day or week of the last answer about a unit."""
    starts: dict[date, list[Unit]] = {}
    for unit, at in answers.last.items():
        starts.setdefault(START[by](at), []).append(unit)
    return [Period(start, figures(answers, units)) for start, units in sorted(starts.items())]


def day(at: datetime) -> date:
    return timezone.localtime(at).date()


def monday(at: datetime) -> date:
    return day(at) - timedelta(days=day(at).weekday())


START: Mapping[str, Callable[[datetime], date]] = {"day": day, "week": monday}


def summary(found: Sequence[Answers]) -> list[tuple[Facet, Figures]]:
    return [(answers.facet, figures(answers)) for answers in found]
