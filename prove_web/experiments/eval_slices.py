"""Held-out evaluation slices by server, chain length, dependency path and difficulty knob, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from training_worker.graph.edges import LONG_PATH
from training_worker.monitoring.event_data import readable, readable_metric

from .evaluation import Scale, label
from .models import Run

CUTS = (
    ("server", "By server"),
    ("length", "By chain length"),
    ("path", "By longest dependency path"),
    ("knob", "By difficulty knob"),
)
KNOBS = {
    "kind": "Kind",
    "level": "Information level",
    "distractors": "Distractors",
    "enums": "Enum values",
    "recovery": "Error recovery",
    "turns": "User turns",
}
WORDS = {
    ("kind", "chain"): "Call chain",
    ("recovery", "none"): "No error",
    ("recovery", "corrected"): "Corrected",
    ("recovery", "other_tool"): "Other tool",
    ("recovery", "gave_up"): "Gave up",
}


@dataclass(frozen=True)
class Slice:
    """One slice before and after: reward, success, and the reward change with its interval where it has one.

    `reward`, `success` and, where both are known, `goals` are (before, after) pairs; x values are positions on the
    scale that all slices of a cut share.
    """

    name: str
    heading: str
    examples: int
    reward: tuple[float, float]
    success: tuple[float, float]
    change: float | None
    low: float | None
    high: float | None
    passed: tuple[float, float] | None
    goals: tuple[float, float] | None = None
    x: float | None = None
    low_x: float | None = None
    width: float | None = None
    zero_x: float = 0.0


@dataclass(frozen=True)
class Cut:
    """All slices along one dimension."""

    key: str
    title: str
    slices: list[Slice]
    intervals: bool
    passed: bool
    goals: bool = False


def cuts(run: Run, mode: str = "sampled") -> list[Cut]:
    """Return the slices by server, chain length, path and knob.

    A finished run compares before with after, otherwise the first evaluation with the newest. Empty before the first
    evaluation, and for runs without slice metrics.
    """
    stored = readable(run.job.result).get("slices")
    lines = (
        [of_comparison(line, mode) for line in stored if is_measured_slice(line, mode)]
        if stored
        else load_held_out_slices(run)
    )
    found = []
    for key, title in CUTS:
        mine = [one for by, one in lines if (key == "knob") == (by in KNOBS) and by in (key, *KNOBS)]
        if mine:
            any_interval, any_passed = any(one.low is not None for one in mine), any(one.passed for one in mine)
            any_goals = any(one.goals for one in mine)
            found.append(Cut(key, title, position_slices(mine), any_interval, any_passed, any_goals))
    return found


def is_measured_slice(line: dict[str, Any], mode: str) -> bool:
    """Return whether the line is a slice, not the total, whose reward and success are known on both sides."""
    ends = (line[mode][side][part] for side in ("before", "after") for part in (0, -1))
    return line["by"] != "all" and None not in (*ends, *line[mode].get("pass_4", ()))


def of_comparison(line: dict[str, Any], mode: str) -> tuple[str, Slice]:
    values = line[mode]
    change, low, high = values["reward"]
    passed = (values["pass_4"][0], values["pass_4"][1]) if "pass_4" in values else None
    reward, success = ((values["before"][part], values["after"][part]) for part in (0, -1))
    by, name, goals = (
        line["by"],
        name_of(line["by"], line["name"]),
        known_pair(*values.get("goal_success", (None, None))),
    )
    pairs = reward, success
    return by, Slice(name, KNOBS.get(by, ""), line["examples"], *pairs, change, low, high, passed, goals)


def known_pair(before: float | None, after: float | None) -> tuple[float, float] | None:
    return None if before is None or after is None else (before, after)


def load_held_out_slices(run: Run) -> list[tuple[str, Slice]]:
    """Return the slices of the first and the newest evaluation."""
    rows = run.held_out.values_list("metrics__slices", flat=True)
    looks = [
        line for line in rows if readable_metric("slices", line) and None not in (end for one in line for end in one)
    ]
    if not looks:
        return []
    first = {(by, name): numbers for by, name, *numbers in looks[0]}
    found = []
    for by, name, examples, reward, success, *goal in looks[-1]:
        if (by, name) in first:
            _, reward_before, success_before, *goal_before = first[by, name]
            pairs = (reward_before, reward), (success_before, success)
            goals = (goal_before[0], goal[0]) if goal and goal_before else None
            rest = (reward - reward_before, None, None, None, goals)
            found.append((by, Slice(name_of(by, name), KNOBS.get(by, ""), examples, *pairs, *rest)))
    return found


def name_of(by: str, name: str) -> str:
    if by == "length":
        return label(name)
    if by == "path":
        return f"{label(name)} or more" if name == str(LONG_PATH) else label(name)
    if by == "server":
        return name
    return WORDS.get((by, name), name.replace("_", " ").capitalize())


def position_slices(slices: Sequence[Slice]) -> list[Slice]:
    """Return the slices with their positions on a common scale, and a heading only where it changes."""
    scale = Scale.from_values(value for one in slices for value in (one.change, one.low, one.high) if value is not None)
    found, heading = [], ""
    for one in slices:
        low, high = (None if end is None else scale.x(end) for end in (one.low, one.high))
        width = None if low is None or high is None else round(high - low, 2)
        x = None if one.change is None else scale.x(one.change)
        title = one.heading if one.heading != heading else ""
        found.append(replace(one, heading=title, x=x, low_x=low, width=width, zero_x=scale.x(0.0)))
        heading = one.heading
    return found
