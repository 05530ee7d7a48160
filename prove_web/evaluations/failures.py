"""How items failed: a row for each kind of failure, with how many of each category."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count

from .models import Evaluation


@dataclass(frozen=True)
class Cell:
    """How many items of a category failed this way; `heat`, 0 to 100, is that beside the most of any cell."""

    category: str
    count: int
    heat: int


@dataclass(frozen=True)
class Failure:
    """A kind of failure; `width` is its count beside that of the most frequent, `share` beside all, in percent."""

    kind: str
    count: int
    width: float
    share: float
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        return self.kind.replace("_", " ") or "unknown"


def failures_of(evaluation: Evaluation, categories: list[str]) -> list[Failure]:
    """The most frequent first; one query."""
    failed = evaluation.items.order_by().filter(passed=False).values_list("failure", "category")
    counts = {(kind, category): n for kind, category, n in failed.annotate(Count("id"))}
    totals = Counter[str]()
    for (kind, _), n in counts.items():
        totals[kind] += n
    most, hottest = max(totals.values(), default=1), max(counts.values(), default=1)
    return [
        Failure(
            kind,
            total,
            round(100 * total / most, 1),
            round(100 * total / totals.total(), 1),
            tuple(
                Cell(name, counts.get((kind, name), 0), round(100 * counts.get((kind, name), 0) / hottest))
                for name in categories
            ),
        )
        for kind, total in sorted(totals.items(), key=lambda one: (-one[1], one[0]))
    ]
