"""Evaluation slices by server, chain length, dependent path and synthesis setting, before against after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import comb
from typing import Any

from mcp_servers.catalogue import TOOLS

from ..core.trajectory import Example, Rollout
from ..graph.edges import LONG_PATH, longest_path
from ..reward.final_state import final_state
from ..reward.goal import goal_success
from ..reward.success import is_success
from .evaluate import Rollouts, Value, compare_policies, totals_of
from .metrics import COMPONENTS, component_means, goal_means, mean

PARTS = ("reward", *COMPONENTS, "success")  # the numbers of a slice, in this order
TRIES = (1, 2, 4)  # the k of pass^k
LEAST = 10  # the fewest examples for which an interval is reported
DIGITS = 5
Breakdown = dict[str, Any]


def servers_of(example: Example) -> list[str]:
    """Return the servers that the ground truth calls, or those of the world if the right act is to call nothing."""
    names = {call.name for step in example.steps for call in step.calls}
    called = {TOOLS[name][0].name for name in names if name in TOOLS}
    return sorted(called or set(example.world.servers))


def path_of(example: Example) -> list[str]:
    """Return the number of steps on the longest dependent path, LONG_PATH at most."""
    return [str(min(longest_path(len(example.steps), example.edges), LONG_PATH))]


CUTS: Mapping[str, Callable[[Example], Sequence[str]]] = {
    "server": servers_of,
    "length": lambda example: [str(len(example.steps))],
    "path": path_of,
    "kind": lambda example: [example.kind],
    "level": lambda example: [example.level],
    "distractors": lambda example: ["some" if example.distractors else "none"],
    "enums": lambda example: ["stripped" if example.enums_stripped else "kept"],
    "recovery": lambda example: sorted({failure.recovery for failure in example.failures}) or ["none"],
    "turns": lambda example: [str(len(example.turns))],
}
ALWAYS = ("server", "length", "kind")  # reported even with a single slice, which equals the whole


def cut(examples: Sequence[Example]) -> dict[tuple[str, str], list[int]]:
    """Return the indices of a slice's examples by cut and name; slices of one cut may overlap."""
    found: dict[tuple[str, str], list[int]] = {}
    for by, names in CUTS.items():
        slices: dict[str, list[int]] = {}
        for place, example in enumerate(examples):
            for name in names(example):
                slices.setdefault(name, []).append(place)
        if len(slices) > 1 or by in ALWAYS:
            found |= {(by, name): slices[name] for name in sorted(slices, key=in_order)}
    return found


def in_order(name: str) -> tuple[int, str]:
    """Return a sort key that orders numbers by size and words by letters."""
    return (int(name), "") if name.isdecimal() else (0, name)


def successes(rollouts: Sequence[Rollout]) -> list[float]:
    """Return 1 for every valid rollout that did all of the ground truth and nothing else, else 0."""
    return [float(is_success(rollout.reward)) for rollout in rollouts if rollout.reward is not None]


def pass_hat(rollouts: Rollouts, k: int) -> float | None:
    """Return pass^k: the chance that k rollouts of an example all succeed (Yao et al. 2024, tau-bench, section 5.1).

    It is the mean of C(c, k) / C(n, k) over the examples with n >= k valid rollouts, c of them successful, which is
    unbiased; None if no example has k valid rollouts.
    """
    counts = [(len(each), int(sum(each))) for each in map(successes, rollouts) if len(each) >= k]
    return mean([comb(c, k) / comb(n, k) for n, c in counts]) if counts else None


def summarize_slices(examples: Sequence[Example], rollouts: Rollouts) -> list[tuple[Any, ...]]:
    """Return one row per slice, short enough for an event: cut, name, examples, mean reward, share of successes.

    Goal success comes last, where it is known.
    """
    lines: list[tuple[Any, ...]] = []
    for (by, name), places in cut(examples).items():
        flat = [rollout for place in places for rollout in rollouts[place]]
        reward, success = mean(totals_of(flat)), mean(successes(flat))
        goal = goal_success(flat)
        known = () if goal is None else (round(goal, DIGITS),)
        lines.append((by, name, len(places), round(reward, DIGITS), round(success, DIGITS), *known))
    return lines


def state_reached(examples: Sequence[Example], rollouts: Rollouts) -> float | None:
    """Return the share of rollouts with the same final world as the ground truth (see reward/final_state.py).

    None without examples that call tools.
    """
    ended = [
        final_state(example, rollout)
        for example, each in zip(examples, rollouts, strict=True)
        for rollout in each
        if example.steps and not example.source and rollout.reward is not None
    ]
    return mean(ended) if ended else None


def compare_slices(examples: Sequence[Example], modes: Mapping[str, tuple[Rollouts, Rollouts]]) -> list[Breakdown]:
    """Compare before and after, first over all examples and then in every slice.

    `modes` holds both sides by sampling mode. Each mode has `before` and `after` in the order of PARTS, pass^k of both
    where an example has k rollouts, goal success and act accuracy of both where they are known, and the paired
    differences of reward and success with their intervals, which require LEAST examples.
    """
    places = {("all", "all"): list(range(len(examples))), **cut(examples)}
    return [
        {
            "by": by,
            "name": name,
            "examples": len(chosen),
            **{mode: comparison([[side[i] for i in chosen] for side in sides]) for mode, sides in modes.items()},
        }
        for (by, name), chosen in places.items()
    ]


def comparison(sides: Sequence[Rollouts]) -> Breakdown:
    before, after = sides
    table: Breakdown = {"before": numbers(before), "after": numbers(after)}
    table["reward"], table["success"] = gain(before, after, totals_of), gain(before, after, successes)
    for k in TRIES:
        passed = [pass_hat(side, k) for side in sides]
        if None not in passed:
            table[f"pass_{k}"] = [round(share, DIGITS) for share in passed if share is not None]
    old, new = (goal_means([rollout for each in side for rollout in each]) for side in sides)
    return table | {name: [round(old[name], DIGITS), round(new[name], DIGITS)] for name in old if name in new}


def numbers(rollouts: Rollouts) -> list[float]:
    flat = [rollout for each in rollouts for rollout in each]
    means = {**component_means(flat), "success": mean(successes(flat))}
    return [round(means[part], DIGITS) for part in PARTS]


def gain(before: Rollouts, after: Rollouts, value: Value) -> list[float | None]:
    """Return the mean paired difference and its 95% interval; None where there are too few examples."""
    try:
        found = compare_policies(before, after, value=value)
    except ValueError:
        return [None, None, None]
    interval = [found.low, found.high] if found.examples >= LEAST else [None, None]
    return [None if number is None else round(number, DIGITS) for number in (found.difference, *interval)]
