"""A reward as a waterfall: every part begins where the one before it ended, and the last one ends at the total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .breakdown import Part

WIDTH = 100.0  # of the picture, in its own units


@dataclass(frozen=True)
class Bar:
    """A part from `start` to `end`, in points of the total; `left` and `width` in units of the picture.

    `earning` and `losing` are the calls, from 1, that earned and lost it, where that is known call by call.
    """

    part: Part
    start: float
    end: float
    left: float
    width: float
    finish: float
    earning: tuple[int, ...] = ()
    losing: tuple[int, ...] = ()

    @property
    def takes(self) -> bool:
        return self.end < self.start

    @property
    def first(self) -> int | None:
        """The call to look at first: one that lost, else one that earned."""
        return min(self.losing or self.earning, default=None)


@dataclass(frozen=True)
class Waterfall:
    """`zero` is where nothing stands, `total` where the total ends; `bars` in the order of their sum."""

    bars: tuple[Bar, ...]
    zero: float
    total: float
    left: float
    width: float


def waterfall(
    parts: Sequence[Part], total: float, most: float, calls: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
) -> Waterfall | None:
    """The bars of a total; None where it is no sum of parts. `calls` has, by part, who earned and who lost it."""
    if not parts:
        return None
    ends = [0.0]
    for part in parts:
        ends.append(ends[-1] + part.adds)
    low, high = min(0.0, *ends), max(most, total, *ends)

    def place(points: float) -> float:
        return round(WIDTH * (points - low) / ((high - low) or 1.0), 3)

    bars = tuple(
        Bar(
            part,
            start,
            end,
            left=place(min(start, end)),
            width=round(place(max(start, end)) - place(min(start, end)), 3),
            finish=place(end),
            earning=calls.get(part.name, ((), ()))[0],
            losing=calls.get(part.name, ((), ()))[1],
        )
        for part, start, end in zip(parts, ends, ends[1:], strict=False)
    )
    zero, finish = place(0.0), place(total)
    return Waterfall(bars, zero, finish, min(zero, finish), round(abs(finish - zero), 3))
