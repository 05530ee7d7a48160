"""Launch form fields for GRPO only: sampling, groups and the policy update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from .form_fields import choice, number, yes_or_no

BASIC = ("prompts", "group", "temperature", "beta")
LOSSES = (("dapo", "DAPO"), ("dr_grpo", "Dr. GRPO"), ("grpo", "GRPO"), ("bnpo", "BNPO"))


class GRPOFields(forms.Form):
    prompts = number("Prompts per step", "prompts", 1, 64, "Conversations sampled per step. 8 to 32.")
    group = number("Group size", "group", 2, 64, "Rollouts per prompt, compared with each other. 8 to 16.")
    temperature = number("Temperature", "temperature", 0.1, 2, "Of sampling, near 1. Lower values make groups uniform.")
    beta = number("KL coefficient", "beta", 0, 1, "Keeps the policy near its initial weights. 0 to 0.01; 0 is fastest.")

    loss = choice("Loss", "loss", LOSSES, "How token losses are averaged. DAPO weighs all tokens of a batch equally.")
    credit = choice(
        "Credit assignment",
        "credit",
        (("branch", "Branch tokens"), ("rollout", "Whole rollout")),
        "Not plain GRPO by default: only tokens where a group's rollouts diverge are trained. Choose “Whole rollout” "
        "(credit=rollout) for GRPO as in the paper.",
    )
    scale_rewards = choice(
        "Scale advantages",
        "scale_rewards",
        (("none", "No"), ("group", "By group std"), ("batch", "By batch std")),
        "The paper scales by group; without scaling, nearly equal groups are not amplified.",
    )
    normalise = choice(
        "Reward normalisation",
        "normalise",
        (("total", "Total reward"), ("components", "Per component")),
        "Per component keeps low-variance components from being drowned out.",
    )
    clip_low = number("Clip range low", "clip_low", 0, 1, "How much less likely a token may become. 0.2.")
    clip_high = number(
        "Clip range high", "clip_high", 0, 5, "How much likelier a token may become. 0.2 to 0.28, at least the low one."
    )
    zero_variance = choice(
        "Zero-variance groups",
        "zero_variance",
        (("keep", "Keep"), ("drop", "Drop from update"), ("resample", "Resample other prompts")),
        "Groups whose rollouts all have the same reward. Resampling uses up to three times as many prompts.",
    )
    mask_truncated = yes_or_no(
        "Mask truncated rollouts",
        "mask_truncated",
        "Excludes rollouts cut by the token limit from the loss. The paper includes them.",
    )
    difficulty = choice(
        "Difficulty",
        "difficulty",
        (("off", "Uniform sampling"), ("pools", "Pools by pass rate")),
        "Pools sample prompts that sometimes pass more often than those that always or never pass.",
    )
    curriculum = choice(
        "Curriculum",
        "curriculum",
        (("off", "All lengths"), ("length", "Short chains first")),
        "Short chains first helps a policy that cannot finish long ones yet.",
    )
    longest_prompt = number(
        "Max prompt length", "longest_prompt", 64, 131_072, "In tokens; longer prompts are skipped. The paper: 12,384."
    )
    limit_turn = number(
        "Max tokens per turn", "limit_turn", 8, 131_072, "Tokens that the policy may generate in one turn."
    )
    limit_completion = number(
        "Max tokens per rollout", "limit_completion", 16, 262_144, "All turns with tool results. The paper: 16,384."
    )
    limit_observation = number(
        "Max tokens per result",
        "limit_observation",
        0,
        131_072,
        "Longer tool results are visibly truncated; 0 turns the token limit off.",
    )


SWITCHES = tuple(name for name in GRPOFields.base_fields if name not in BASIC)


def faults(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the errors of conflicting settings by field."""
    found = {}
    low, high = given.get("clip_low"), given.get("clip_high")
    if low is not None and high is not None and high < low:
        found["clip_high"] = f"Clip range high ({high:g}) must be at least clip range low ({low:g})."
    turn, rollout = given.get("limit_turn"), given.get("limit_completion")
    if turn and rollout and turn > rollout:
        found["limit_turn"] = f"Max tokens per turn ({turn}) must not exceed max tokens per rollout ({rollout})."
    if given.get("normalise") == "components" and given.get("scale_rewards") != "none":
        found["scale_rewards"] = "Normalisation per component already scales the rewards. Choose No here."
    return found
