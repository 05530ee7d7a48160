"""Programmatic rewards without a judge model: PROVE's (paper, section 3), related rewards and optional terms."""

from .config import BadReward, RewardConfig, read_reward
from .presets import PAPER, PRESETS, preset
from .prove_reward import score
from .reward import reward_of
from .validity import form_level

__all__ = ["PAPER", "PRESETS", "BadReward", "RewardConfig", "form_level", "preset", "read_reward", "reward_of", "score"]
