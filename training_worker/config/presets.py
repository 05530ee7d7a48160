"""Training recipes: the run settings that each recipe sets.

`tiny` has the default settings, for the shipped policy on two CPU cores; `final_norm` trains only the gains of its last
norm, as one arm of `make proof` does. `gpu` is our own: LoRA adapters on a model of a few billion parameters, with
shorter rollouts, on one GPU. `paper` follows the paper's section 4; settings that the paper does not give are those of
GRPO itself (Shao et al. 2024, arXiv 2402.03300, section 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .grpo import defaults

LORA_RATE = 1e-5  # common practice; the paper trains all weights
BIG = 6e9  # parameters; the paper uses another learning rate for Qwen3-8B than for Qwen3-4B

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "prompts": 16,
        "group": 16,
        "max_steps": 350,
        "learning_rate": 1e-6,
        "warmup_steps": 0,
        "decay": 0.0,
        "beta": 0.01,
        "loss": "grpo",
        "clip_low": 0.2,
        "clip_high": 0.2,
        "scale_rewards": "group",
        "credit": "rollout",
        "trainable": "all",
        "zero_variance": "keep",
        "mask_truncated": False,
        "longest_prompt": 12_384,
        "limits": {"turn": 16_384, "completion": 16_384},
        "precision": "bf16",
        "gradient_checkpointing": True,
        "micro_batch": 1,
    }
)

OWN = defaults()
TINY: Mapping[str, Any] = MappingProxyType(
    {
        **{name: OWN[name] for name in PAPER if name not in ("decay", "limits")},
        "limits": {name: OWN["limits"][name] for name in PAPER["limits"]},
    }
)

FINAL_NORM: Mapping[str, Any] = MappingProxyType(  # as in experiments/proof.py
    {**TINY, "credit": "rollout", "trainable": "final_norm", "learning_rate": 6e-2}
)

ONE_GPU: Mapping[str, Any] = MappingProxyType(
    {
        **PAPER,
        "prompts": 8,
        "group": 8,
        "learning_rate": LORA_RATE,
        "beta": 0.0,
        "lora_rank": 32,
        "lora_alpha": 64,
        "longest_prompt": 8_192,
        "limits": {"turn": 2_048, "completion": 8_192},
    }
)

RECIPES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"tiny": TINY, "final_norm": FINAL_NORM, "gpu": ONE_GPU, "paper": PAPER}
)

RATES: Mapping[str, float] = MappingProxyType(
    {"qwen3": 1e-6, "qwen2.5": 3e-7, "granite4": 3e-7, "llama3": 3e-7}  # ours for Llama: as for the other 7B and 8B
)


def paper_rate(family: str, parameters: float, lora: bool = False) -> float:
    """Return the paper's learning rate for a model family and number of parameters (section 4).

    Families are named as in policy/model_families.py. Raises KeyError.
    """
    if lora:
        return LORA_RATE
    return 5e-8 if family == "qwen3" and parameters > BIG else RATES[family]


def settings_of(recipe: str, family: str = "qwen3", parameters: float = 4e9, lora: bool = False) -> dict[str, Any]:
    """Return the run settings of a recipe by name, for a model of this family and size. Raises KeyError."""
    found = dict(RECIPES[recipe])
    if recipe == "paper":
        found["learning_rate"] = paper_rate(family, parameters, lora)
    return found
