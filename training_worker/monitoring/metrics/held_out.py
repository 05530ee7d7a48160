"""Metrics of a held-out evaluation, measured on greedy rollouts, in addition to the reward and its components."""

from .metric import Metric

HELD_OUT = (
    Metric(
        "held_out",
        "Held-out",
        "Reward",
        "reward",
        "Mean total reward of greedy rollouts on held-out worlds, which training never uses.",
        "Rises with the training reward. A fall while the training reward rises is overfitting.",
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
        "Share of these rollouts that leave all servers in the ground truth's final state, make no other write and "
        "tell the user what is required; read-only calls are free.",
        "Rises with held-out success. Far above it, the policy takes detours.",
        "more",
    ),
    Metric(
        "held_out_act_accuracy",
        "Held-out act accuracy",
        "Reward",
        "share",
        "Share of user turns of these rollouts with the right act: call tools, ask back or answer in text.",
        "Rises early.",
        "more",
    ),
    Metric(
        "held_out_state",
        "Final state reached",
        "Reward",
        "share",
        "Share of these rollouts, where calls are required, that end in the ground truth's final state.",
        "At least the success rate: detours are allowed.",
        "more",
    ),
)
