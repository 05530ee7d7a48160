"""The part of the launch form that only GRPO has: how it samples, what it takes from a group, how it updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from .form_fields import choice, number, yes_or_no

BASIC = ("prompts", "group", "temperature", "beta")
LOSSES = (("dapo", "DAPO"), ("dr_grpo", "Dr. GRPO"), ("grpo", "GRPO"), ("bnpo", "BNPO"))


class GRPOFields(forms.Form):
    prompts = number("Prompts per step", "prompts", 1, 64, "Conversations asked in one step. 8 to 32.")
    group = number("Group size", "group", 2, 64, "Rollouts of each prompt, compared with each other. 8 to 16.")
    temperature = number("Temperature", "temperature", 0.1, 2, "Of sampling. Near 1: lower, and groups become equal.")
    beta = number("KL coefficient", "beta", 0, 1, "Holds the policy near its start. 0 to 0.01; 0 is fastest.")

    loss = choice("Loss", "loss", LOSSES, "How tokens are averaged. DAPO counts all tokens of a batch alike.")
    credit = choice(
        "Credit",
        "credit",
        (("branch", "At the branches"), ("rollout", "To the whole rollout")),
        "Not plain GRPO by default: only tokens at which a group's rollouts part are trained. Choose the whole rollout "
        "for GRPO as in the paper (credit=rollout).",
    )
    scale_rewards = choice(
        "Scale advantages",
        "scale_rewards",
        (("none", "No"), ("group", "By each group's spread"), ("batch", "By the batch's spread")),
        "The paper's is by group; without it, groups that are nearly equal are not blown up.",
    )
    normalise = choice(
        "Normalise",
        "normalise",
        (("total", "The total"), ("components", "Each component by itself")),
        "By component, a rare one is heard beside a loud one.",
    )
    clip_low = number("Clip low", "clip_low", 0, 1, "How far a token may become less likely. 0.2.")
    clip_high = number("Clip high", "clip_high", 0, 5, "How far likelier. 0.2 to 0.28; at least clip low.")
    zero_variance = choice(
        "Groups without signal",
        "zero_variance",
        (("keep", "Keep"), ("drop", "Drop from the update"), ("resample", "Ask other prompts instead")),
        "Groups whose rollouts all earn the same. Resampling asks up to three times as many prompts.",
    )
    mask_truncated = yes_or_no(
        "Mask cut rollouts", "mask_truncated", "Rollouts cut by the token limit do not teach. The paper's do."
    )
    difficulty = choice(
        "Difficulty",
        "difficulty",
        (("off", "All alike"), ("pools", "Pools by measured pass rate")),
        "Pools ask more of what is passed now and then, less of what always or never is.",
    )
    curriculum = choice(
        "Curriculum",
        "curriculum",
        (("off", "All lengths from the start"), ("length", "Short chains first")),
        "Short chains first helps a policy that cannot finish long ones yet.",
    )
    longest_prompt = number(
        "Longest prompt", "longest_prompt", 64, 131_072, "In tokens; longer ones are left out. The paper: 12,384."
    )
    limit_turn = number("Tokens of a turn", "limit_turn", 8, 131_072, "That the policy may write in one turn.")
    limit_completion = number(
        "Tokens of a rollout", "limit_completion", 16, 262_144, "All turns with tool results. The paper: 16,384."
    )
    limit_observation = number(
        "Tokens of a result",
        "limit_observation",
        0,
        131_072,
        "A tool's result is cut there, visibly; 0: not by tokens.",
    )


SWITCHES = tuple(name for name in GRPOFields.base_fields if name not in BASIC)


def faults(given: Mapping[str, Any]) -> dict[str, str]:
    """What does not go together, by field."""
    found = {}
    low, high = given.get("clip_low"), given.get("clip_high")
    if low is not None and high is not None and high < low:
        found["clip_high"] = f"Clip high ({high:g}) must be at least clip low ({low:g})."
    turn, whole = given.get("limit_turn"), given.get("limit_completion")
    if turn and whole and turn > whole:
        found["limit_turn"] = f"A turn ({turn}) cannot have more tokens than its rollout ({whole})."
    if given.get("normalise") == "components" and given.get("scale_rewards") != "none":
        found["scale_rewards"] = "Components that are normalised are scaled already. Choose No here."
    return found
