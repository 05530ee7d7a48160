"""Metrics of a held-out evaluation, beside the reward and its components; of greedy rollouts."""

from .metric import Metric

HELD_OUT = (
    Metric(
        "held_out",
        "Held-out",
        "Reward",
        "reward",
        "Mean total reward of greedy rollouts on worlds that training never opens.",
        "Rises with the training reward. Falling while that one rises is overfitting.",
        "more",
    ),
    Metric(
        "held_out_success",
        "Held-out success",
        "Reward",
        "share",
        "Share of these rollouts that do all of the ground truth and nothing else.",
        "Rises with the held-out reward, later than it.",
        "more",
    ),
    Metric(
        "held_out_goal_success",
        "Held-out goal success",
        "Reward",
        "share",
        "Share of these rollouts that leave all servers as the ground truth does, make no write beyond its own, and "
        "tell the user what is due; look-ups are free.",
        "Rises with held-out success. Far above it, the policy does the task by detours.",
        "more",
    ),
    Metric(
        "held_out_act_accuracy",
        "Held-out act accuracy",
        "Reward",
        "share",
        "Share of user turns of these rollouts in which the policy calls tools, asks back or only speaks where that is "
        "right.",
        "Rises early.",
        "more",
    ),
    Metric(
        "held_out_state",
        "Final state reached",
        "Reward",
        "share",
        "Share of these rollouts, where calls are due, that leave the world as the ground truth does.",
        "At least the success rate: detours are allowed.",
        "more",
    ),
)
