"""Final evaluation of a run: the policy before and after training in the same held-out worlds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .chance import verdict

PARTS = ("reward", "validity", "coverage", "efficiency", "name", "arguments")
MODES = (("sampled", "Sampled (T=1)"), ("greedy", "Greedy"))
GOALS = (("goal_success", "Goal success"), ("act_accuracy", "Act accuracy"))
ACT_TITLES = ("Call", "Ask", "Text")
MARGIN = 0.15  # of the value range, on either side of an interval chart


@dataclass(frozen=True)
class Scale:
    """A linear scale from values to 0..100 that contains zero and all values, with a margin."""

    start: float
    width: float

    @classmethod
    def from_values(cls, values: Iterable[float]) -> Scale:
        found = [0.0, *values]
        low, high = min(found), max(found)
        spread = (high - low) or 1.0
        return cls(low - spread * MARGIN, spread * (1 + 2 * MARGIN))

    def x(self, value: float) -> float:
        return round(100 * (value - self.start) / self.width, 2)


@dataclass(frozen=True)
class Gain:
    """A mean paired difference with its 95% interval, and their positions on a scale of 0 to 100.

    `share` says that the numbers are shares of rollouts, not rewards.
    """

    title: str
    share: bool
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
        return verdict(self.low, self.high, self.examples)


@dataclass(frozen=True)
class Row:
    """Conversations of one chain length: for each of PARTS the mean before, after, and the change."""

    name: str
    examples: int
    cells: list[tuple[float, float, float]]


def gains(result: dict[str, Any]) -> list[Gain]:
    """Return the comparisons of a readable result that have all their numbers: success on chains, then rewards."""
    chains = next((line for line in result.get("slices", []) if (line["by"], line["name"]) == ("kind", "chain")), None)
    successes = [(f"Chain success, {mode}", success(chains, mode)) for mode, _ in MODES] if chains else []
    rewards = [(f"Reward, {mode}", result.get(mode)) for mode, _ in MODES]
    return [
        gain(title, share, one)
        for share, measured in ((True, successes), (False, rewards))
        for title, one in measured
        if one and None not in one.values()
    ]


def success(chains: dict[str, Any], mode: str) -> dict[str, Any]:
    """Return the change of success in a slice, in the form of a paired difference."""
    numbers = chains[mode]
    difference, low, high = numbers["success"]
    ends = {"before": numbers["before"][-1], "after": numbers["after"][-1], "examples": chains["examples"]}
    return ends | {"difference": difference, "low": low, "high": high}


def headline(found: list[Gain]) -> list[Gain]:
    """Return the first comparison of each measure."""
    first = (next((one for one in found if one.share == share), None) for share in (True, False))
    return [one for one in first if one]


def gain(title: str, share: bool, paired: dict[str, Any]) -> Gain:
    numbers = {name: float(paired[name]) for name in ("before", "after", "difference", "low", "high")}
    scale = Scale.from_values((numbers["low"], numbers["high"]))
    low, high = scale.x(numbers["low"]), scale.x(numbers["high"])
    places = {"zero_x": scale.x(0.0), "low_x": low, "difference_x": scale.x(numbers["difference"])}
    return Gain(title, share, **numbers, examples=int(paired["examples"]), **places, width=round(high - low, 2))


def build_chain_length_rows(result: dict[str, Any]) -> list[Row]:
    """Return the table by chain length: abstention first, the total last."""
    after = {line["steps"]: line for line in result.get("after", [])}
    return [
        Row(label(line["steps"]), line["examples"], cells(line["means"], after[line["steps"]]["means"]))
        for line in result.get("before", [])
        if line["steps"] in after and None not in (*line["means"].values(), *after[line["steps"]]["means"].values())
    ]


def cells(before: dict[str, float], after: dict[str, float]) -> list[tuple[float, float, float]]:
    return [(before[part], after[part], after[part] - before[part]) for part in PARTS]


def label(steps: str) -> str:
    return {"0": "Abstention", "1": "1 step", "all": "All"}.get(steps, f"{steps} steps")


def outcomes(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return by sampling mode success rate, pass^k and final states reached, as (title, before, after, change)."""
    overall = next((line for line in result.get("slices", []) if line["by"] == "all"), None)
    if overall is None:
        return []
    found = []
    for mode, title in MODES:
        values = overall[mode]
        pairs = [("Success rate", (values["before"][-1], values["after"][-1]))]
        pairs += [(f"pass^{k}", values[f"pass_{k}"]) for k in (1, 2, 4) if mode == "sampled" and f"pass_{k}" in values]
        pairs += [(title, values[name]) for name, title in GOALS if name in values]
        pairs += [("Final state reached", result.get(mode, {}).get("state", (None, None)))]
        lines = [
            (name, before, after, after - before) for name, (before, after) in pairs if None not in (before, after)
        ]
        acts = result.get(mode, {}).get("acts", ())
        found.append(
            {
                "title": title,
                "lines": lines,
                "low": values["success"][1],
                "high": values["success"][2],
                "acts": act_rows(*acts),
            }
        )
    return found


def act_rows(*tables: Sequence[Sequence[int]]) -> list[tuple[str, list[list[int]]]]:
    """Return by correct act the number of turns per act of the policy in each table; nothing if a table is empty."""
    if not tables or not all(tables):
        return []
    return [
        (title, [[table[row][column] for table in tables] for column in range(len(ACT_TITLES))])
        for row, title in enumerate(ACT_TITLES)
    ]
