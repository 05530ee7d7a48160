"""What a reward is made of, for an update that normalises each part by itself.

GDPO (arXiv 2601.05242): each part is normalised within its group, the weighted sum over the batch. Otherwise a part
that varies much drowns one that varies little, and groups with different parts get the same advantage. Only the
paper's form of the reward has such parts.
"""

from __future__ import annotations

from ..prove.reward import RewardConfig
from ..prove.reward.prove_reward import COMPONENTS
from ..prove.trajectory import Reward

ABSTENTION = "abstention"
PARTS = (*COMPONENTS, ABSTENTION)


def weights_of(weights: RewardConfig) -> dict[str, float]:
    """The weight of every part; an abstention example has no other part, and no other example has it."""
    return {**{name: getattr(weights, name) for name in COMPONENTS}, ABSTENTION: 1.0}


def parts_of(reward: Reward) -> dict[str, float]:
    """The parts of one reward, by name."""
    if reward.abstention:
        return {ABSTENTION: reward.total}
    return {name: getattr(reward, name) for name in COMPONENTS}
