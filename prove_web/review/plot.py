"""Small line plot with intervals, in a box of WIDTH by HEIGHT. A table has the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 10, 28
TICKS = 5

Point = tuple[float, float]
Span = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A line: its name, the points of an SVG polyline, its dots and the intervals (x, low, high) at them."""

    name: str
    points: str
    dots: list[Point]
    spans: list[tuple[float, float, float]]


@dataclass(frozen=True)
class Plot:
    title: str
    lines: list[Line]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    mark: float | None = None  # x of a highlighted line
    diagonal: str = ""
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class Box:
    """The ranges of x and y in a plot."""

    x: Span
    y: Span

    def scale_x(self, value: float) -> float:
        return round(LEFT + share(value, self.x) * (WIDTH - LEFT - RIGHT), 1)

    def scale_y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - share(value, self.y) * (HEIGHT - TOP - BOTTOM), 1)

    def line(self, name: str, points: Sequence[Point], spans: Sequence[tuple[float, float, float]] = ()) -> Line:
        dots = [(self.scale_x(x), self.scale_y(y)) for x, y in points]
        whiskers = [(self.scale_x(x), self.scale_y(low), self.scale_y(high)) for x, low, high in spans]
        return Line(name, " ".join(f"{x},{y}" for x, y in dots), dots, whiskers)

    def ticks_up(self) -> list[tuple[float, str]]:
        return [(self.scale_y(value), f"{value:.2f}") for value in compute_tick_values(self.y)]

    def ticks_across(self) -> list[tuple[float, str]]:
        return [(self.scale_x(value), f"{value:.2f}") for value in compute_tick_values(self.x)]


def share(value: float, span: Span) -> float:
    low, high = span
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5


def compute_tick_values(span: Span) -> list[float]:
    low, high = span
    return [low + (high - low) * step / (TICKS - 1) for step in range(TICKS)]


def widen(values: Sequence[float], least: Span) -> Span:
    """Return the range of the values, extended to at least `least`."""
    return min([*values, least[0]]), max([*values, least[1]])
