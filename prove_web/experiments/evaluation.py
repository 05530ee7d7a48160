"""The evaluation that ends a run: the policy before and after on the same held-out worlds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PARTS = ("reward", "validity", "coverage", "efficiency", "name", "arguments")
MODES = (("sampled", "Sampled at temperature 1"), ("greedy", "Greedy"))
MARGIN = 0.15  # of the picture of an interval, beyond what has to be in it


@dataclass(frozen=True)
class Gain:
    """A mean paired difference with its 95% interval, and where these lie in a picture 100 wide."""

    title: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    examples: int
    zero_x: float
    low_x: float
    width: float
    difference_x: float

    @property
    def verdict(self) -> str:
        return "better" if self.low > 0 else "worse" if self.high < 0 else "no clear difference"


@dataclass(frozen=True)
class Row:
    """Conversations of one chain length: for each of PARTS its mean before, after, and the change."""

    name: str
    examples: int
    cells: list[tuple[float, float, float]]


def gains(result: dict[str, Any]) -> list[Gain]:
    return [gain(title, result[mode]) for mode, title in MODES if isinstance(result.get(mode), dict)]


def gain(title: str, paired: dict[str, Any]) -> Gain:
    numbers = {name: float(paired[name]) for name in ("before", "after", "difference", "low", "high")}
    low, high = min(0.0, numbers["low"]), max(0.0, numbers["high"])
    room = ((high - low) or 1.0) * (1 + 2 * MARGIN)
    start = low - ((high - low) or 1.0) * MARGIN

    def x(value: float) -> float:
        return round(100 * (value - start) / room, 2)

    places = {"zero_x": x(0.0), "low_x": x(numbers["low"]), "difference_x": x(numbers["difference"])}
    width = round(x(numbers["high"]) - x(numbers["low"]), 2)
    return Gain(title, **numbers, examples=int(paired["examples"]), **places, width=width)


def rows(result: dict[str, Any]) -> list[Row]:
    """The table by chain length: abstention first, all together last."""
    after = {line["steps"]: line for line in result.get("after", [])}
    return [
        Row(label(line["steps"]), line["examples"], cells(line["means"], after[line["steps"]]["means"]))
        for line in result.get("before", [])
        if line["steps"] in after
    ]


def cells(before: dict[str, float], after: dict[str, float]) -> list[tuple[float, float, float]]:
    return [(before[part], after[part], after[part] - before[part]) for part in PARTS]


def label(steps: str) -> str:
    return {"0": "Abstention", "1": "1 step", "all": "All"}.get(steps, f"{steps} steps")
