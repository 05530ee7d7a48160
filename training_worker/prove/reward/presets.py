"""The weights of the reward: the paper's, and its ablations by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Weights:
    """What each component counts in the total; alpha is the price of excess calls, beta the slack of the budget."""

    validity: float = 0.5
    coverage: float = 0.5
    efficiency: float = 0.15
    name: float = 0.2
    arguments: float = 0.1
    alpha: float = 0.5
    beta: float = 0.5


PAPER = Weights()

PRESETS = MappingProxyType(
    {
        "paper": PAPER,
        "no_validity": replace(PAPER, validity=0.0),
        "no_coverage": replace(PAPER, coverage=0.0),
        "no_efficiency": replace(PAPER, efficiency=0.0),
        "no_name": replace(PAPER, name=0.0),
        "no_arguments": replace(PAPER, arguments=0.0),
        "flat_budget": replace(PAPER, beta=0.0),
    }
)
