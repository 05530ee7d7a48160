"""The time of a step: generation, environment, reward, update, and the part spent on zero-variance groups."""

from __future__ import annotations

from collections.abc import Sequence

from ..rollout.generate import Sample
from .metrics import Metrics, batch_metrics, count_policy_tokens, dead_share


def compute_rollout_metrics(samples: Sequence[Sample], group: int, seconds: float, processes: int = 1) -> Metrics:
    """Return the metrics of a batch whose rollouts took this many seconds on parallel processes.

    The samples' environment and reward times are divided by the number of processes; the rest is generation.
    """
    groups = [samples[i : i + group] for i in range(0, len(samples), group)]
    environment = sum(one.environment_s for one in samples) / processes
    reward = sum(one.reward_s for one in samples) / processes
    generation = max(0.0, seconds - environment - reward)
    return {
        **batch_metrics(samples, group),
        "rollout_s": seconds,
        "generation_s": generation,
        "environment_s": environment,
        "reward_s": reward,
        "dead_s": seconds * dead_share(groups, count_policy_tokens),
        "tokens_per_s": sum(len(one.completion_ids) for one in samples) / seconds,
        "generated_per_s": sum(map(count_policy_tokens, samples)) / generation if generation else 0.0,
    }


def add_step_timing(batch: Metrics, seconds: float, elapsed: float) -> Metrics:
    """Return the batch's metrics with the times of its step."""
    outside = batch["environment_s"] + batch["reward_s"]
    return {
        **batch,
        "step_s": seconds,
        "update_s": seconds - batch["rollout_s"],
        "elapsed_s": elapsed,
        "environment_share": outside / seconds,
        "total_per_s": batch["tokens"] / seconds,
    }
