"""Default settings of a run: the trainer's own, and what only the site sets.

DEFAULTS are always sent to the worker; of SWITCHES and REWARD only non-default values are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from training_worker.config.grpo import JOB_DEFAULTS, TokenLimits, defaults
from training_worker.config.sft import SupervisedRun
from training_worker.evaluation.registry import KNOWN
from training_worker.reward import PAPER

Value = int | float | str | bool | None

CORES = os.cpu_count() or 1
GRPO: dict[str, Any] = defaults() | JOB_DEFAULTS
SFT: dict[str, Any] = {one.name: one.default for one in fields(SupervisedRun) if one.default is not MISSING}

DEFAULTS: dict[str, int | float] = {
    "minutes": 6.0,
    **{name: GRPO[name] for name in ("max_steps", "learning_rate", "prompts", "group", "temperature", "beta")},
    "evaluate_every": 20,
    "held_out": 200,
    "seed": GRPO["seed"],
    "threads": min(GRPO["threads"], CORES),
}
SUPERVISED: dict[str, int | float] = {name: SFT[name] for name in ("epochs", "batch")}  # sent for a supervised run
SWITCHES: dict[str, Value] = {
    **{name: GRPO[name] for name in ("patience", "decay", "warmup_steps", "loss", "credit", "scale_rewards")},
    **{name: GRPO[name] for name in ("normalise", "clip_low", "clip_high", "zero_variance", "mask_truncated")},
    **{name: GRPO[name] for name in ("difficulty", "curriculum", "longest_prompt")},
    "longest": SFT["longest"],
    **{name: GRPO[name] for name in ("backend", "vllm_mode", "device", "precision", "gradient_checkpointing")},
    **{name: GRPO[name] for name in ("micro_batch", "trainable", "lora_rank", "lora_alpha", "processes", "sharding")},
}
LIMITS: dict[str, int] = asdict(TokenLimits())  # sent together, as `limits`
REWARD: dict[str, Value] = asdict(PAPER)

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
