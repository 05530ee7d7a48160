"""Success: a rollout did all of the ground truth and nothing else, whatever its components count in the total."""

from __future__ import annotations

from ..trajectory import Reward

MOST = {"validity": 1.0, "coverage": 1.0, "efficiency": 0.0, "name": 1.0, "arguments": 1.0}
EQUAL = 1e-6  # what rounding may take away


def is_success(reward: Reward) -> bool:
    """Whether every component is at its most, or no call was made where none is due."""
    if reward.abstention:
        return reward.total >= 1 - EQUAL
    return all(getattr(reward, name) >= most - EQUAL for name, most in MOST.items())
