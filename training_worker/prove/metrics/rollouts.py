"""Metrics of how rollouts go: their calls and what fails of them, how they end, and at which boundary they fail."""

from typing import get_args

from ..trajectory import Boundary, End
from .metric import Metric

ENDS = {
    "answered": ("Answered", "that ended with an answer to the last user turn", "Nearly all."),
    "assistant_turns": ("Turns", "that were cut at the most assistant turns", "Near 0. A rise is going in circles."),
    "calls": ("Calls", "that were cut at the most calls", "Near 0."),
    "tokens": ("Tokens", "that were cut at the most tokens", "Near 0: they are masked, so they teach nothing."),
    "infrastructure": ("Infrastructure", "that a failure ended which was not the policy's", "0."),
}
BOUNDARIES = {
    "policy": ("By the policy", "that broke a limit", "Falls."),
    "environment": ("By the environment", "whose server broke", "0. Else a server has a fault: see the log."),
    "infrastructure": ("By the infrastructure", "that generation or dispatch failed", "0."),
}


def share(name: str, title: str, which: str, healthy: str) -> Metric:
    return Metric(name, title, "Rollouts", "share", f"Share of rollouts {which}.", healthy)


def words(name: str, known: dict[str, tuple[str, str, str]]) -> tuple[str, str, str]:
    """A title, which rollouts are meant, and what is healthy; plain ones where nobody wrote better."""
    plain = name.replace("_", " ")
    return known.get(name, (plain.capitalize(), f"that ended by {plain}", "Near 0."))


ROLLOUTS = (
    Metric(
        "rollouts",
        "Rollouts",
        "Rollouts",
        "number",
        "Rollouts of the step, invalid ones included.",
        "Prompts x group size.",
    ),
    Metric(
        "calls",
        "Calls",
        "Rollouts",
        "number",
        "Mean tool calls of a rollout.",
        "Near what the tasks need: an example's ground truth has 1 to 5 or more.",
    ),
    Metric(
        "tool_failures",
        "Tool failures",
        "Rollouts",
        "share",
        "Share of calls that fail a validity level: unknown tool, wrong form, or refused by the server.",
        "Falls towards 0. A rise means that the policy forgets the form of a call.",
        "less",
    ),
    Metric(
        "malformed",
        "Malformed calls",
        "Rollouts",
        "share",
        "Share of calls that could not be read as a call.",
        "Near 0 after the first steps.",
        "less",
    ),
    Metric(
        "truncated",
        "Truncated",
        "Rollouts",
        "share",
        "Share of rollouts of valid groups that were cut at the most tokens.",
        "Near 0. A rise means that rollouts ramble or that the limit is too low.",
        "less",
    ),
    Metric(
        "dropped_groups",
        "Dropped groups",
        "Rollouts",
        "groups",
        "Groups without signal that were left out of the update; runs that drop or resample them.",
        "Few.",
        "less",
    ),
    Metric(
        "wasted_rollouts",
        "Replaced rollouts",
        "Rollouts",
        "number",
        "Rollouts of groups without signal that were replaced by others; runs that resample them.",
        "Few.",
        "less",
    ),
    Metric(
        "easy_examples",
        "Easy",
        "Rollouts",
        "number",
        "Examples in the pool of those that nearly every rollout solves; runs with pools of difficulty.",
        "Grows.",
    ),
    Metric(
        "middle_examples",
        "Middle",
        "Rollouts",
        "number",
        "Examples in the pool of those that some rollouts solve, which teach most.",
        "Not empty.",
    ),
    Metric(
        "hard_examples",
        "Hard",
        "Rollouts",
        "number",
        "Examples in the pool of those that hardly any rollout solves.",
        "Shrinks.",
    ),
    *(share(f"end_{name}", *words(name, ENDS)) for name in get_args(End)),
    *(share(f"failed_{name}", *words(name, BOUNDARIES)) for name in get_args(Boundary)),
)
