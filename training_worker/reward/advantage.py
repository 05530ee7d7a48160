"""Rollout advantages: the reward minus the mean of its group, scaled as the run is configured.

Shao et al. 2024 (GRPO), section 4.1, divide by the group's standard deviation; Liu et al. 2025 (Dr. GRPO) do not. The
formulas are those of TRL's GRPOTrainer, which computes its own advantages; these are stored with the rollouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from statistics import fmean, stdev
from typing import Literal

Scale = Literal["group", "batch", "none"]
SMALL = 1e-4  # TRL adds this to a standard deviation before it divides


def advantages(rewards: Sequence[float | None], group: int, scale: Scale) -> list[float | None]:
    """Return one advantage per reward; groups are consecutive, and a group with a missing reward gets None for all.

    Standard deviations are of a sample (n - 1); `batch` uses that of all rewards of the groups without a missing one.
    """
    groups = [list(rewards[i : i + group]) for i in range(0, len(rewards), group)]
    complete = [[reward for reward in members if reward is not None] for members in groups if None not in members]
    batch = deviation([reward for members in complete for reward in members])
    found: list[float | None] = []
    for members in groups:
        known = [reward for reward in members if reward is not None]
        if len(known) < len(members):
            found += [None] * len(members)
            continue
        divisor = {"group": deviation(known) + SMALL, "batch": batch + SMALL, "none": 1.0}[scale]
        mean = fmean(known)
        found += [(reward - mean) / divisor for reward in known]
    return found


def component_advantages(
    parts: Sequence[Mapping[str, float] | None], weights: Mapping[str, float], group: int
) -> list[float | None]:
    """Return the advantages of rewards whose components are normalised one by one (GDPO, arXiv 2601.05242, section 3).

    Each component is normalised by its group's mean and standard deviation, and then the weighted sums by those of the
    batch. All advantages are None in a group that has a rollout without components.
    """
    sums: list[float | None] = []
    for start in range(0, len(parts), group):
        members = [one for one in parts[start : start + group] if one is not None]
        if len(members) < len(parts[start : start + group]):
            sums += [None] * len(parts[start : start + group])
            continue
        columns = {name: [one[name] for one in members if name in one] for name in weights}
        scales = {name: (fmean(found), deviation(found) + SMALL) for name, found in columns.items() if found}
        sums += [
            fsum(weights[name] * (one[name] - scales[name][0]) / scales[name][1] for name in one) for one in members
        ]
    known = [one for one in sums if one is not None]
    mean, scale = fmean(known) if known else 0.0, deviation(known) + SMALL
    return [None if one is None else (one - mean) / scale for one in sums]


def deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0
