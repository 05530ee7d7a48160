"""What a batch of rollouts says about the policy: reward, components, failures, lengths."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pstdev

from ..prove.trajectory import Rollout
from .sampler import Sample

COMPONENTS = ("validity", "coverage", "efficiency", "name", "arguments")
EQUAL = 1e-6  # a group whose rewards spread less than this carries no signal


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return fmean(values) if values else 0.0


def component_means(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Mean total over scored rollouts, and the mean of each component over those that were to call tools."""
    rewards = [rollout.reward for rollout in rollouts if rollout.reward is not None]
    graded = [reward for reward in rewards if not reward.abstention]
    return {
        "reward": mean([reward.total for reward in rewards]),
        **{name: mean([getattr(reward, name) for reward in graded]) for name in COMPONENTS},
    }


def batch_metrics(samples: Sequence[Sample], group: int) -> dict[str, float]:
    """The metrics of one training batch; groups are neighbours, and an invalid group is only counted."""
    groups = [samples[i : i + group] for i in range(0, len(samples), group)]
    scored = [members for members in groups if not invalid(members)]
    spreads = [pstdev([reward_of(sample) for sample in members]) for members in scored]
    rollouts = [sample.rollout for members in scored for sample in members]
    calls = [call for rollout in rollouts for call in rollout.calls]
    return {
        **component_means(rollouts),
        "reward_std": mean(spreads),
        "zero_variance": mean([float(spread <= EQUAL) for spread in spreads]),
        "invalid_groups": len(groups) - len(scored),
        "tool_failures": mean([float(call.level < 3) for call in calls]),
        "calls": len(calls) / max(1, len(rollouts)),
        "truncated": mean([float(rollout.end == "tokens") for rollout in rollouts]),
        "prompt_tokens": mean([len(sample.prompt_ids) for sample in samples]),
        "model_tokens": mean([sum(sample.env_mask) for sample in samples]),
        "completion_tokens": mean([len(sample.completion_ids) for sample in samples]),
    }


def invalid(members: Sequence[Sample]) -> bool:
    """Whether a group carries no signal because one of its rollouts failed for no fault of the policy."""
    return any(sample.rollout.reward is None for sample in members)


def reward_of(sample: Sample) -> float:
    return sample.rollout.reward.total if sample.rollout.reward else 0.0
