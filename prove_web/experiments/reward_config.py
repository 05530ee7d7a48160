"""What a run scores by: its configuration, and the same in a few words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from django.db.models import Max

from training_worker.prove.reward import PAPER, PRESETS, BadReward, RewardConfig, read_reward

from .defaults import DEFAULTS
from .form_fields import plain
from .models import Run, RunKind
from .reward_fields import OWN, TITLES, RewardFields

OF_FORMS = {  # the settings that one form alone has
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
    """The reward of a run; the paper's where its configuration says nothing that can be read."""
    try:
        return read_reward(run.config.get("reward") or {})
    except BadReward:
        return PAPER


def scored_at(run: Run, step: int) -> RewardConfig:
    """What the rollouts of a step were scored by: a share of the trace that moves does so by steps."""
    most = max(1, int(run.config.get("max_steps", DEFAULTS["max_steps"])))
    return scored_by(run).at((step - 1) / most)


def top(run: Run) -> float:
    """The most that a rollout of the run can earn, by calls or by abstaining; of one trained elsewhere, has earned."""
    if run.kind == RunKind.OUTSIDE:
        return max(1.0, run.groups.aggregate(most=Max("high"))["most"] or 0.0)
    return max(1.0, scored_by(run).largest)


def short(name: str) -> str:
    """A reward that has a name, in a few words; one's own has none."""
    if name == OWN:
        return "Custom weights"
    return re.split(r": | \(", TITLES[name])[0] if name in TITLES else name


def said(given: Mapping[str, Any] | None) -> str:
    """A reward as pages write it: its name, or its form and what is not as usual in it. Nothing for the paper's."""
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
        f"{label(field.name)} {plain(value)}"
        for field in fields(config)
        if field.name in counted and (value := getattr(config, field.name)) != usual[field.name]
    ]
    first = IN_SHORT[config.form]
    return f"{first} with {', '.join(own)}" if own else first


def label(name: str) -> str:
    """What the launch form calls a part of the reward, within a sentence."""
    return str(RewardFields.base_fields[f"reward_{name}"].label).lower()
