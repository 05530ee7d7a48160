"""Metrics of rollouts: calls, failed calls, stop reasons and failure boundaries."""

from typing import get_args

from ...core.trajectory import Boundary, End
from .metric import Metric

ENDS = {
    "answered": ("Answered", "that ended with an answer to the last user turn", "Nearly all."),
    "assistant_turns": ("Turn limit", "stopped at the limit of assistant turns", "Near 0. A rise means loops."),
    "calls": ("Call limit", "stopped at the call limit", "Near 0."),
    "tokens": ("Token limit", "stopped at the token limit", "Near 0: they are masked and teach nothing."),
    "infrastructure": ("Infrastructure", "ended by a failure outside the policy", "0."),
}
BOUNDARIES = {
    "policy": ("Policy failures", "that exceeded a limit", "Falls."),
    "environment": ("Environment failures", "whose server failed", "0. Otherwise a server has a fault: see the log."),
    "infrastructure": ("Infrastructure failures", "whose generation or dispatch failed", "0."),
}


def share(name: str, title: str, which: str, healthy: str) -> Metric:
    return Metric(name, title, "Rollouts", "share", f"Share of rollouts {which}.", healthy)


def get_metric_texts(name: str, known: dict[str, tuple[str, str, str]]) -> tuple[str, str, str]:
    """Return the title, description and healthy values of a value, generated from its name if `known` has none."""
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
        "Mean tool calls per rollout.",
        "Near what the tasks need: the ground truth of an example has 1 to 5 or more.",
    ),
    Metric(
        "tool_failures",
        "Tool failures",
        "Rollouts",
        "share",
        "Share of calls that fail a validity level: unknown tool, invalid arguments, or rejected by the server.",
        "Falls towards 0. A rise means the policy forgets the call format.",
        "less",
    ),
    Metric(
        "malformed",
        "Malformed calls",
        "Rollouts",
        "share",
        "Share of calls that could not be parsed.",
        "Near 0 after the first steps.",
        "less",
    ),
    Metric(
        "truncated",
        "Truncated",
        "Rollouts",
        "share",
        "Share of rollouts of valid groups that were cut at the token limit.",
        "Near 0. A rise means rollouts ramble or the limit is too low.",
        "less",
    ),
    Metric(
        "dropped_groups",
        "Dropped groups",
        "Rollouts",
        "groups",
        "Zero-variance groups excluded from the update; runs that drop or resample them.",
        "Few.",
        "less",
    ),
    Metric(
        "wasted_rollouts",
        "Replaced rollouts",
        "Rollouts",
        "number",
        "Rollouts of zero-variance groups that were replaced; runs that resample them.",
        "Few.",
        "less",
    ),
    Metric(
        "easy_examples",
        "Easy",
        "Rollouts",
        "number",
        "Examples in the pool that nearly every rollout solves; runs with difficulty pools.",
        "Grows.",
    ),
    Metric(
        "middle_examples",
        "Medium",
        "Rollouts",
        "number",
        "Examples in the pool that some rollouts solve, which teach most.",
        "Not empty.",
    ),
    Metric(
        "hard_examples",
        "Hard",
        "Rollouts",
        "number",
        "Examples in the pool that hardly any rollout solves.",
        "Shrinks.",
    ),
    *(share(f"end_{name}", *get_metric_texts(name, ENDS)) for name in get_args(End)),
    *(share(f"failed_{name}", *get_metric_texts(name, BOUNDARIES)) for name in get_args(Boundary)),
)
