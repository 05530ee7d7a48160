"""Sweep plots: final held-out reward of the members against each varied setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 360, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 10, 30
MARGIN = 0.08  # of the range of rewards, above and below
LONGEST = 18  # characters of a tick
LETTER, APART = 5.5, 10  # width of a character and minimum gap between ticks, in pixels
LOG = 50  # numbers whose ratio reaches this are placed on a log scale


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    number: int
    title: str
    best: bool


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Plot:
    """Dots and ticks in a box of WIDTH by HEIGHT; `start_y` is the mean reward before training."""

    title: str
    dots: list[Dot]
    across: list[Tick]
    up: list[Tick]
    start_y: float
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class MemberResult:
    """A member with its value of the setting, and its held-out reward before and after."""

    number: int
    value: str
    before: float
    after: float
    best: bool


def plot(title: str, members: Sequence[MemberResult]) -> Plot:
    """Return the plot of at least one member."""
    start = sum(member.before for member in members) / len(members)
    rewards = [*(member.after for member in members), start]
    low, high = min(rewards), max(rewards)
    margin = (high - low) * MARGIN or 0.05
    low, high = low - margin, high + margin

    def y(reward: float) -> float:
        return round(HEIGHT - BOTTOM - (reward - low) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    places = compute_x_positions([member.value for member in members])
    dots = [
        Dot(places[one.value], y(one.after), one.number, f"{one.value}: {one.after:.3f}", one.best) for one in members
    ]
    across = [Tick(at, cut(value)) for value, at in select_ticks(places)]
    up = [Tick(y(value), f"{value:.2f}") for value in (low + margin, (low + high) / 2, high - margin)]
    return Plot(title, dots, across, up, y(start))


def compute_x_positions(values: Sequence[str]) -> dict[str, float]:
    """Return the x position of each value: numbers linearly or on a log scale, other values evenly spaced."""
    distinct = list(dict.fromkeys(values))
    numbers = {value: number for value in distinct if (number := as_number(value)) is not None}
    if len(numbers) < len(distinct):
        sizes = {value: float(place) for place, value in enumerate(distinct)}
    elif min(numbers.values()) > 0 and max(numbers.values()) / min(numbers.values()) >= LOG:
        sizes = {value: math.log(number) for value, number in numbers.items()}
    else:
        sizes = numbers
    low, high = min(sizes.values()), max(sizes.values())
    inner, span = 24, WIDTH - LEFT - RIGHT - 48
    return {
        value: round(LEFT + inner + (size - low) / ((high - low) or 1) * span, 1)
        if high > low
        else LEFT + inner + span / 2
        for value, size in sizes.items()
    }


def as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def select_ticks(places: dict[str, float]) -> list[tuple[str, float]]:
    """Return the ticks that fit without overlap."""
    labels: list[tuple[str, float]] = []
    for value, at in sorted(places.items(), key=lambda item: item[1]):
        if not labels or at - labels[-1][1] >= (breadth(value) + breadth(labels[-1][0])) / 2 + APART:
            labels.append((value, at))
    return labels


def breadth(text: str) -> float:
    """Return the approximate width of a tick's text."""
    return LETTER * min(len(text), LONGEST)


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
