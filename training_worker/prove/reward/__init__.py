"""The reward of PROVE: five programmatic components and abstention, no judge model (paper, section 3)."""

from .presets import PAPER, PRESETS, Weights
from .total import score
from .validity import form_level

__all__ = ["PAPER", "PRESETS", "Weights", "form_level", "score"]
