"""Sweep analysis: parallel coordinates of the members, and how much of their ranking each setting explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .sweep_plot import as_number, compute_x_positions, cut

WIDTH, TOP, BOTTOM, SIDE = 960, 46, 250, 90
APART = 24  # pixels between ticks
ENOUGH = 8  # finished members required for a ranking
CLEAR = 0.05


@dataclass(frozen=True)
class Axis:
    """The axis of one setting, or of the final reward; ticks are (y, text)."""

    title: str
    x: float
    ticks: list[tuple[float, str]]


@dataclass(frozen=True)
class Line:
    number: int
    points: str
    best: bool
    title: str


@dataclass(frozen=True)
class Parallel:
    """A line per finished member through its value of each setting to its held-out reward; larger values are higher."""

    axes: list[Axis]
    lines: list[Line]
    width: int = WIDTH
    top: int = TOP
    bottom: int = BOTTOM
    height: int = BOTTOM + 20


@dataclass(frozen=True)
class Member:
    """A finished member: its values by setting as text, and its held-out reward."""

    number: int
    values: Mapping[str, str]
    reward: float
    best: bool


@dataclass(frozen=True)
class Weight:
    """Share of the reward ranking that one setting explains, 0 to 1, with the p-value of no effect.

    For numbers it is the square of Spearman's rank correlation, with its `sign`; for other values the epsilon squared
    of the Kruskal-Wallis test.
    """

    title: str
    share: float
    p: float
    sign: str

    @property
    def clear(self) -> bool:
        return self.p < CLEAR


def parallel(members: Sequence[Member], titles: Mapping[str, str]) -> Parallel:
    """Return the plot of at least one member; `titles` are the settings' titles by field, in order."""
    fields = [*titles, ""]
    step = (WIDTH - 2 * SIDE) / max(1, len(fields) - 1)
    places = {field: heights([text_of(one, field) for one in members]) for field in fields}
    axes = [
        Axis(titles.get(field, "Held-out reward"), SIDE + at * step, ticks(places[field]))
        for at, field in enumerate(fields)
    ]
    lines = [
        Line(
            one.number,
            " ".join(
                f"{axis.x:.1f},{places[field][text_of(one, field)]}" for axis, field in zip(axes, fields, strict=True)
            ),
            one.best,
            ", ".join(f"{titles[field]} {one.values.get(field, '')}" for field in titles) + f": {one.reward:.3f}",
        )
        for one in sorted(members, key=lambda one: one.best)
    ]
    return Parallel(axes, lines)


def text_of(one: Member, field: str) -> str:
    return one.values.get(field, "") if field else f"{one.reward:.3f}"


def heights(values: Sequence[str]) -> dict[str, float]:
    """Return the y position of each value, the largest at the top."""
    across = compute_x_positions(values)
    low, high = min(across.values()), max(across.values())
    return {
        value: round(BOTTOM - (at - low) / (high - low) * (BOTTOM - TOP), 1) if high > low else (TOP + BOTTOM) / 2
        for value, at in across.items()
    }


def ticks(places: Mapping[str, float]) -> list[tuple[float, str]]:
    """Return as many ticks as fit without overlap."""
    labels: list[tuple[float, str]] = []
    for value, at in sorted(places.items(), key=lambda item: item[1]):
        if not labels or at - labels[-1][0] >= APART:
            labels.append((at, cut(value)))
    return labels


def weights(members: Sequence[Member], titles: Mapping[str, str]) -> list[Weight]:
    """Return the weights, largest first; none for fewer than ENOUGH members or a setting with one value."""
    if len(members) < ENOUGH or len({one.reward for one in members}) < 2:
        return []
    found = [weight(title, members, field) for field, title in titles.items() if varies(members, field)]
    return sorted(found, key=lambda one: -one.share)


def varies(members: Sequence[Member], field: str) -> bool:
    return len({one.values.get(field, "") for one in members}) > 1


def weight(title: str, members: Sequence[Member], field: str) -> Weight:
    from scipy.stats import kruskal, spearmanr  # the import takes 0.5 s

    texts, rewards = [one.values.get(field, "") for one in members], [one.reward for one in members]
    numbers = [as_number(text) for text in texts]
    if None not in numbers and len(set(numbers)) > 1:
        rho, p = spearmanr(numbers, rewards)
        return Weight(title, float(rho) ** 2, float(p), "higher is better" if rho > 0 else "lower is better")
    lots: dict[str, list[float]] = {}
    for text, reward in zip(texts, rewards, strict=True):
        lots.setdefault(text, []).append(reward)
    height, p = kruskal(*lots.values())
    leading = max(lots, key=lambda text: sum(lots[text]) / len(lots[text]))
    return Weight(title, min(1.0, float(height) / (len(members) - 1)), float(p), f"{leading} leads")
