"""Where the columns of the two distributions lie in a box of WIDTH by HEIGHT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .compared import Bin

WIDTH, HEIGHT = 520, 160
WIDE, NARROW = 0.9, 0.5  # shares of a column's place that the one before and the one after take


@dataclass(frozen=True)
class Bar:
    """A column: its corner and size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Column:
    bin: Bin
    before: Bar
    after: Bar


def columns(bins: Sequence[Bin]) -> list[Column]:
    """The same scale for both, so that they can be compared."""
    most = max(max(one.before, one.after) for one in bins)
    place = WIDTH / len(bins)

    def bar(at: int, count: int, share: float) -> Bar:
        height = HEIGHT * count / most
        left = place * at + place * (1 - share) / 2
        return Bar(round(left, 1), round(HEIGHT - height, 1), round(place * share, 1), round(height, 1))

    return [Column(one, bar(at, one.before, WIDE), bar(at, one.after, NARROW)) for at, one in enumerate(bins)]
