"""Reward components, for an update that normalises each of them by itself.

In GDPO (arXiv 2601.05242) each component is normalised within its group, and the weighted sum over the batch. Otherwise
a high-variance component drowns a low-variance one, and groups with different components get the same advantage. Only
the paper's form of the reward has such components.
"""

from __future__ import annotations

from ..core.trajectory import Reward
from ..reward import RewardConfig
from ..reward.prove_reward import COMPONENTS

ABSTENTION = "abstention"
PARTS = (*COMPONENTS, ABSTENTION)


def weights_of(weights: RewardConfig) -> dict[str, float]:
    """Return the weight of every component; only abstention examples have the abstention component, and no other."""
    return {**{name: getattr(weights, name) for name in COMPONENTS}, ABSTENTION: 1.0}


def parts_of(reward: Reward) -> dict[str, float]:
    """Return the components of one reward, by name."""
    if reward.abstention:
        return {ABSTENTION: reward.total}
    return {name: getattr(reward, name) for name in COMPONENTS}
