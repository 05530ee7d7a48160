"""Metrics of how long rollouts are, in tokens."""

from .metric import Metric

OF_MODEL = "tokens that the policy wrote"
LENGTHS = (
    Metric(
        "prompt_tokens",
        "Prompt",
        "Lengths",
        "tokens",
        "Mean tokens of a prompt: tools and first user turn.",
        "Steady: it depends on the data alone.",
    ),
    Metric(
        "prompt_tokens_max",
        "Longest prompt",
        "Lengths",
        "tokens",
        "Most tokens of a prompt in the step.",
        "Below the longest prompt that is configured.",
    ),
    Metric(
        "model_tokens",
        "Written",
        "Lengths",
        "tokens",
        f"Mean {OF_MODEL} in a rollout.",
        "Steady, or as long as the task asks; a steady climb is rambling.",
    ),
    Metric(
        "model_tokens_max",
        "Most written",
        "Lengths",
        "tokens",
        f"Most {OF_MODEL} in one rollout of the step.",
        "Below the limit of the completion.",
    ),
    Metric(
        "completion_tokens",
        "Rollout length",
        "Lengths",
        "tokens",
        "Mean tokens of a completion: what the policy wrote, and what tools and users answered.",
        "Steady; at the limit, rollouts are cut.",
    ),
    Metric(
        "completion_tokens_max",
        "Longest completion",
        "Lengths",
        "tokens",
        "Most tokens of a completion in the step.",
        "Below the limit.",
    ),
    Metric(
        "tokens",
        "Tokens",
        "Lengths",
        "tokens",
        "Tokens of all prompts and completions of the step; their running sum is an axis of charts.",
        "Steady.",
    ),
)
