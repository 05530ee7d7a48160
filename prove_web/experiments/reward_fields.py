"""Launch form fields for the reward: a reward by name, or custom weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from django import forms

from training_worker.reward import PRESETS

from .defaults import REWARD
from .form_fields import choice, number

OWN = "own"
SAVED = "saved-"  # followed by the key of a saved reward (see saved_rewards.py)
FORMS = (
    ("paper", "The paper's five components"),
    ("graduated", "Graduated: atomic validity and orchestration"),
    ("trace_state", "Trace and final state"),
    ("final_state", "Final state only"),
)
TITLES = {
    "paper": "The paper's: 0.5 validity, 0.5 coverage, 0.15 efficiency, 0.2 name, 0.1 arguments",
    "no_validity": "Without validity",
    "no_coverage": "Without coverage",
    "no_efficiency": "Without efficiency",
    "no_name": "Without name",
    "no_arguments": "Without arguments",
    "flat_budget": "Flat budget: no slack in the number of calls",
    "graduated": "Graduated: atomic validity and orchestration (arXiv 2603.24709)",
    "trace_state": "Trace and final state in equal parts (EnvFactory)",
    "trace_state_linear": "From trace to final state over the run (EnvFactory)",
    "final_state": "The final state alone (tau2-bench)",
}
ABLATIONS = ("paper", "no_validity", "no_coverage", "no_efficiency", "no_name", "no_arguments", "flat_budget")
NAMES = tuple(f"reward_{name}" for name in REWARD)


class RewardFields(forms.Form):
    reward_preset = forms.ChoiceField(
        label="Reward",
        choices=[*((name, TITLES.get(name, name.replace("_", " ").capitalize())) for name in PRESETS), (OWN, "Custom")],
        initial="paper",
        help_text="Scores each rollout. The paper's ablations drop one component; Custom sets the weights.",
    )
    reward_form = choice(
        "Form", "reward_form", FORMS, "Formula of the total. The weights below are for the paper's form."
    )
    reward_validity = number("Validity", "reward_validity", 0, 10, "Calls that parse, exist, fit and succeed. 0.5.")
    reward_coverage = number("Coverage", "reward_coverage", 0, 10, "Ground-truth steps reached in order. 0.5.")
    reward_efficiency = number("Efficiency", "reward_efficiency", 0, 10, "Costs calls beyond the budget. 0.15.")
    reward_name = number("Name", "reward_name", 0, 10, "Calls whose tool is among the right ones. 0.2.")
    reward_arguments = number("Arguments", "reward_arguments", 0, 10, "Argument values that are right. 0.1.")
    reward_alpha = number("Excess-call penalty", "reward_alpha", 0, 10, "Alpha of efficiency. 0.5.")
    reward_beta = number("Budget slack", "reward_beta", 0, 10, "Beta: extra calls allowed per call needed. 0.5.")
    reward_tau = number("Trace weight", "reward_tau", 0, 1, "Against the final state, where the form has both. 0.5.")
    reward_tau_end = forms.FloatField(
        label="Final trace weight",
        min_value=0,
        max_value=1,
        required=False,
        help_text="Reached linearly by the end; empty keeps it constant. EnvFactory: 0.9 to 0.1.",
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
    )
    reward_final_state = number(
        "Final-state bonus", "reward_final_state", 0, 10, "Added if the final state matches. 0 to 0.5."
    )
    reward_provenance = number(
        "Invented-value penalty", "reward_provenance", 0, 10, "For argument values not said or shown before. 0 to 0.2."
    )
    reward_repeats = number("Repeat penalty", "reward_repeats", 0, 10, "For repeated calls. 0 to 0.2.")


def reward_of(
    given: Mapping[str, Any], saved: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the complete reward configuration that the form selects."""
    if given["reward_preset"] in saved:
        return {**saved[given["reward_preset"]]}
    if given["reward_preset"] != OWN:
        return {**REWARD, **asdict(PRESETS[given["reward_preset"]])}
    return {name: given[f"reward_{name}"] for name in REWARD}


def select_changed_settings(reward: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that differ from the paper's."""
    return {name: value for name, value in reward.items() if value != REWARD[name]}


def as_fields(reward: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form values for a reward configuration: a named reward where one matches."""
    full = {**REWARD, **reward}
    named = next((name for name, one in PRESETS.items() if {**REWARD, **asdict(one)} == full), OWN)
    return {"reward_preset": named, **{f"reward_{name}": value for name, value in full.items()}}


def faults(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the errors of custom weights by field."""
    if given.get("reward_preset") != OWN or given.get("reward_form") != "paper":
        return {}
    parts = [given.get(f"reward_{name}") for name in ("validity", "coverage", "name", "arguments")]
    if any(part is None or part > 0 for part in parts):
        return {}
    return {"reward_validity": "Every reward is 0 with these weights. Set a component above 0."}
