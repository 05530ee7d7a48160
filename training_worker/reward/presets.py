"""Reward presets: the paper's reward, its ablations and related rewards."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from .config import BadReward, RewardConfig

PAPER = RewardConfig()

PRESETS = MappingProxyType(
    {
        "paper": PAPER,
        "no_validity": replace(PAPER, validity=0.0),
        "no_coverage": replace(PAPER, coverage=0.0),
        "no_efficiency": replace(PAPER, efficiency=0.0),
        "no_name": replace(PAPER, name=0.0),
        "no_arguments": replace(PAPER, arguments=0.0),
        "flat_budget": replace(PAPER, beta=0.0),
        "graduated": RewardConfig(form="graduated"),
        "trace_state": RewardConfig(form="trace_state"),
        "trace_state_linear": RewardConfig(form="trace_state", tau=0.9, tau_end=0.1),
        "final_state": RewardConfig(form="final_state"),
    }
)

SAYS = MappingProxyType(
    {
        "paper": "the reward of PROVE",
        "no_validity": "without validity (PROVE, table 5)",
        "no_coverage": "without coverage (PROVE, table 5)",
        "no_efficiency": "without efficiency (PROVE, table 5)",
        "no_name": "without name (PROVE, table 5)",
        "no_arguments": "without argument values (PROVE, table 5)",
        "flat_budget": "no slack in the budget of calls (PROVE, table 5)",
        "graduated": "atomic validity and orchestration (arXiv 2603.24709)",
        "trace_state": "the right calls and the right final state (EnvFactory)",
        "trace_state_linear": "the same, from mostly calls to mostly state over the run (EnvFactory)",
        "final_state": "the right final state, and nothing else (tau2-bench)",
    }
)


def preset(name: str) -> RewardConfig:
    """Return a preset by name. Raises BadReward, which lists the presets."""
    if name not in PRESETS:
        raise BadReward(f"There is no reward preset {name!r}. Choose one of: {', '.join(PRESETS)}.")
    return PRESETS[name]
