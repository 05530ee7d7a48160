"""Default settings of a run; a test compares them with the trainer's, which this process does not import.

DEFAULTS are always sent to the worker; of SWITCHES and REWARD only non-default values are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from training_worker.evaluation.registry import KNOWN

Value = int | float | str | bool | None

CORES = os.cpu_count() or 1
DEFAULTS: dict[str, int | float] = {
    "minutes": 6.0,
    "max_steps": 350,
    "learning_rate": 2e-4,
    "prompts": 8,
    "group": 8,
    "temperature": 1.0,
    "beta": 0.0,
    "evaluate_every": 20,
    "held_out": 200,
    "seed": 0,
    "threads": min(2, CORES),
}
SUPERVISED: dict[str, int | float] = {"epochs": 3, "batch": 8}  # always sent for a supervised run
SWITCHES: dict[str, Value] = {
    "patience": 0,
    "decay": 0.3,
    "warmup_steps": 3,
    "loss": "dapo",
    "credit": "branch",
    "scale_rewards": "none",
    "normalise": "total",
    "clip_low": 0.2,
    "clip_high": 0.28,
    "zero_variance": "keep",
    "mask_truncated": True,
    "difficulty": "off",
    "curriculum": "off",
    "longest_prompt": 1024,
    "longest": 2048,
    "backend": "auto",
    "vllm_mode": "colocate",
    "device": "auto",
    "precision": "fp32",
    "gradient_checkpointing": False,
    "micro_batch": 0,
    "lora_rank": 0,
    "lora_alpha": 32,
    "processes": 1,
    "sharding": "ddp",
}
LIMITS: dict[str, int] = {"turn": 160, "completion": 1024, "observation": 0}  # tokens; sent together, as `limits`
REWARD: dict[str, Value] = {
    "form": "paper",
    "validity": 0.5,
    "coverage": 0.5,
    "efficiency": 0.15,
    "name": 0.2,
    "arguments": 0.1,
    "alpha": 0.5,
    "beta": 0.5,
    "tau": 0.5,
    "tau_end": None,
    "final_state": 0.0,
    "provenance": 0.0,
    "repeats": 0.0,
}

# benchmarks to run after training, and the maximum number of items per category
EVALUATE: dict[str, Value] = {**{f"benchmark_{name}": False for name in KNOWN}, "benchmark_limit": None}

# initial values of the launch form by field name
START: dict[str, Value] = {
    **DEFAULTS,
    **SUPERVISED,
    **SWITCHES,
    **{f"limit_{name}": value for name, value in LIMITS.items()},
    **{f"reward_{name}": value for name, value in REWARD.items()},
    "reward_tau_end": None,
    **EVALUATE,
}

OF_SUPERVISED = {*SUPERVISED, "longest"}  # only supervised runs have these
OF_BOTH = {
    *(
        "name",
        "kind",
        "recipe",
        "dataset",
        "policy",
        "base",
        "minutes",
        "max_steps",
        "learning_rate",
        "decay",
        "warmup_steps",
    ),
    *("evaluate_every", "held_out", "patience", "seed", "threads", "precision", "gradient_checkpointing"),
    *("device", "lora_rank", "lora_alpha"),
    *EVALUATE,
}


def apply_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored configuration with the defaults of all settings that it leaves out."""
    inner = {"limits": {**LIMITS, **config.get("limits", {})}, "reward": {**REWARD, **(config.get("reward") or {})}}
    return {"policy": "warm", **DEFAULTS, **SUPERVISED, **SWITCHES, **config, **inner}
