"""Looks of tools and edges in the picture and its legend: never by colour alone, readable in light and dark mode."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass

POLYGONS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "up": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "down": ((-1.15, -1.1), (0, -0.4), (1.15, -1.1), (0, 1.2)),
}
GREY, BLUE, SKY, ORANGE, RED, GREEN = "#868e96", "#0072b2", "#56b4e9", "#e69f00", "#d55e00", "#009e73"
LINE = "#2f8fce"  # blue for thin lines: visible on white and on near black
QUARTERS = 4
DASHES = {"solid": "", "dashed": "6 3", "dotted": "2 3"}


@dataclass(frozen=True)
class Swatch:
    """A look with its meaning.

    For a tool: shape, size across in pixels, and whether it is hollow; for an edge: width and line.
    """

    label: str
    colour: str
    shape: str = "circle"
    size: int = 22
    hollow: bool = False
    width: float = 1.2
    line: str = "solid"

    @property
    def points(self) -> str:
        """The corners of the shape in an SVG; empty for a circle."""
        return " ".join(f"{x * self.size / 4:.2f},{y * self.size / 4:.2f}" for x, y in POLYGONS.get(self.shape, ()))

    @property
    def radius(self) -> float:
        return self.size / 4

    @property
    def dashes(self) -> str:
        return DASHES[self.line]

    @property
    def look(self) -> dict[str, object]:
        """The look for the browser, without its label."""
        return {name: value for name, value in vars(self).items() if name != "label"}


READ, WRITE, DESTRUCTIVE = (
    Swatch("Read-only tool", BLUE),
    Swatch("Write tool", ORANGE, "square"),
    Swatch("Destructive tool", RED, "diamond"),
)
FOUND, CREATED, PLAIN, IMPLICIT = (
    Swatch("Returns an existing ID", LINE),
    Swatch("Creates the value", GREEN, width=2),
    Swatch("Returns a plain value", ORANGE, width=1.6, line="dashed"),
    Swatch("Implicit: must run first", RED, width=1.6, line="dotted"),
)
EDGE = Swatch("Edge (colours apply to tools)", GREY)
UNCALLED = Swatch("Not called", GREY, size=16, hollow=True)
RATES = (0.5, 0.8, 0.95)
SUCCESS = (
    Swatch("Below 50 %", RED, "down", 28),
    Swatch("50 to 80 %", ORANGE, "diamond", 24),
    Swatch("80 to 95 %", SKY, "square"),
    Swatch("95 % and more", GREEN),
)
CHANGES = (-0.1, -0.02, 0.02, 0.1)
DRIFT = (
    Swatch("Worse by 10 points or more", RED, "down", 30),
    Swatch("Worse by 2 to 10", ORANGE, "down"),
    Swatch("Within 2 points", GREY),
    Swatch("Better by 2 to 10", SKY, "up"),
    Swatch("Better by 10 or more", BLUE, "up", 30),
)
AMOUNTS = ("#b3d9ef", SKY, BLUE, "#00466e")


def of_rate(rate: float) -> int:
    """Return the index in SUCCESS; 0.8 is the first of its range."""
    return bisect_right(RATES, round(rate, 9))


def of_change(change: float) -> int:
    """Return the index in DRIFT; a change exactly at a limit counts as a change."""
    change = round(change, 9)
    return 2 if abs(change) < CHANGES[2] else bisect_right(CHANGES, change) if change > 0 else of_loss(change)


def of_loss(change: float) -> int:
    return 0 if change <= CHANGES[0] else 1


def quarters(counts: Collection[int]) -> list[tuple[int, int]]:
    """Return up to four ranges of the counts above zero, with about equally many counts in each, as (first, last)."""
    values = sorted(count for count in counts if count > 0)
    lows = sorted({values[len(values) * part // QUARTERS] for part in range(QUARTERS)} if values else ())
    highs = [low - 1 for low in lows[1:]] + values[-1:]
    return list(zip(lows, highs, strict=True))


def amounts(ranges: list[tuple[int, int]], nothing: str, edges: bool = False) -> tuple[Swatch, ...]:
    """Return a look for zero, then one for each range: larger and darker for more, or for edges wider."""
    last = len(ranges) - 1
    more = [
        Swatch(
            f"{low:,}" if low == high else f"{low:,} to {high:,}",
            LINE if edges else AMOUNTS[QUARTERS - 1 - last + place],
            size=18 + 4 * place,
            width=1.2 + 1.2 * place,
        )
        for place, (low, high) in enumerate(ranges)
    ]
    none = Swatch(nothing, GREY, size=14, hollow=True, width=0.8, line="dotted")
    return (none, *more)


def of_amount(ranges: list[tuple[int, int]], count: int) -> int:
    """Return the index in `amounts`."""
    return bisect_right([low for low, _ in ranges], count) if count else 0
