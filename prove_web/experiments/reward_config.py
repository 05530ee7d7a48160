"""Reward configuration of a run, and its description in a few words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from django.db.models import Max

from training_worker.reward import PAPER, PRESETS, BadReward, RewardConfig, read_reward

from .defaults import DEFAULTS
from .form_fields import format_config_value
from .models import Run, RunKind
from .reward_fields import OWN, TITLES, RewardFields

OF_FORMS = {  # the settings that belong to one form only
    "paper": ("validity", "coverage", "efficiency", "name", "arguments", "alpha", "beta"),
    "trace_state": ("tau", "tau_end"),
}
IN_SHORT = {
    "paper": "The paper's",
    "graduated": "Graduated",
    "trace_state": "Trace and final state",
    "final_state": "Final state",
}
OPTIONAL = ("final_state", "provenance", "repeats")


def scored_by(run: Run) -> RewardConfig:
    """Return the reward of a run; the paper's if its configuration cannot be read."""
    try:
        return read_reward(run.config.get("reward") or {})
    except BadReward:
        return PAPER


def scored_at(run: Run, step: int) -> RewardConfig:
    """Return the reward at a step, because the trace weight may change over the run."""
    most = max(1, int(run.config.get("max_steps", DEFAULTS["max_steps"])))
    return scored_by(run).interpolate_tau((step - 1) / most)


def compute_max_reward(run: Run) -> float:
    """Return the maximum reward of a rollout: for external runs the maximum observed, at least 1."""
    if run.kind == RunKind.OUTSIDE:
        return max(1.0, run.groups.aggregate(most=Max("high"))["most"] or 0.0)
    return max(1.0, scored_by(run).largest)


def short(name: str) -> str:
    """Return the short title of a named reward."""
    if name == OWN:
        return "Custom weights"
    return re.split(r": | \(", TITLES[name])[0] if name in TITLES else name


def describe_reward(given: Mapping[str, Any] | None) -> str:
    """Return a short description of a reward: its name, or its form and changed settings; "" for the paper's."""
    if not given:
        return ""
    try:
        config = read_reward(given)
    except BadReward as why:
        return str(why)
    named = next((name for name, one in PRESETS.items() if one == config), "")
    if named:
        return "" if named == "paper" else short(named)
    usual = asdict(RewardConfig(form=config.form))
    counted = {*OF_FORMS.get(config.form, ()), *OPTIONAL}
    own = [
        f"{label(field.name)} {format_config_value(value)}"
        for field in fields(config)
        if field.name in counted and (value := getattr(config, field.name)) != usual[field.name]
    ]
    first = IN_SHORT[config.form]
    return f"{first} with {', '.join(own)}" if own else first


def label(name: str) -> str:
    """Return the launch form's label of a reward setting, in lower case."""
    return str(RewardFields.base_fields[f"reward_{name}"].label).lower()
