"""Success: a rollout did all of the ground truth and nothing else, whatever its components count in the total."""

from __future__ import annotations

from collections.abc import Mapping

from ..trajectory import Reward

MOST = {"validity": 1.0, "coverage": 1.0, "efficiency": 0.0, "name": 1.0, "arguments": 1.0}
EQUAL = 1e-6  # what rounding may take away


def is_success(reward: Reward) -> bool:
    """Whether every component is at its most, or no call was made where none is due."""
    return succeeded(reward.total, reward.abstention, {name: getattr(reward, name) for name in MOST})


def succeeded(total: float | None, abstention: bool, components: Mapping[str, float | None]) -> bool:
    """The same of a rollout in short, which has neither total nor components where it failed by no fault of its own."""
    if abstention:
        return total is not None and total >= 1 - EQUAL
    return all((components.get(name) or 0.0) >= most - EQUAL for name, most in MOST.items()) and total is not None
