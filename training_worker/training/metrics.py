"""Metrics of a batch of rollouts: reward, components, failures, lengths, tools.

Names, units and formulas are in monitoring/metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any, get_args

from ..core.trajectory import Boundary, End, ExecutedCall, Reward, Rollout
from ..monitoring.metrics import TOOLS
from ..reward.acts import act_accuracy
from ..reward.goal import goal_success
from ..reward.success import is_success
from ..rollout.generate import Sample

COMPONENTS = ("validity", "coverage", "efficiency", "name", "arguments")
EQUAL = 1e-6  # a group whose rewards spread less than this carries no signal
MALFORMED, NOT_OFFERED = "(malformed)", "(not offered)"
LOGGED = {  # our metric names: TRL's log keys
    "loss": "loss",
    "grad_norm": "grad_norm",
    "kl": "kl",
    "clipped_low": "clip_ratio/low_mean",
    "clipped_high": "clip_ratio/high_mean",
}
Metrics = dict[str, Any]


def mean(values: Sequence[float]) -> float:
    """Return the mean, or 0 without values."""
    return fmean(values) if values else 0.0


def component_means(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Return the mean total of scored rollouts, and component means of those that had to call tools."""
    rewards = [rollout.reward for rollout in rollouts if rollout.reward is not None]
    graded = [reward for reward in rewards if not reward.abstention]
    return {
        "reward": mean([reward.total for reward in rewards]),
        **{name: mean([getattr(reward, name) for reward in graded]) for name in COMPONENTS},
    }


def outcome_means(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Return component means, the share of successes, and the rewards of call and abstention examples separately.

    Values that no rollout has are left out, including the terms of reward forms other than the paper's; without any
    reward the result is empty.
    """
    rewards = [rollout.reward for rollout in rollouts if rollout.reward is not None]
    if not rewards:
        return {}
    abstained = [reward.total for reward in rewards if reward.abstention]
    graded = [reward.total for reward in rewards if not reward.abstention]
    return {
        **component_means(rollouts),
        **term_means(rewards),
        "success": mean([float(is_success(reward)) for reward in rewards]),
        **goal_means(rollouts),
        **({"graded": mean(graded)} if graded else {}),
        **({"abstention": mean(abstained)} if abstained else {}),
    }


def goal_means(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Return goal success and act accuracy, each only if it is known for some of the rollouts."""
    found = {"goal_success": goal_success(rollouts), "act_accuracy": act_accuracy(rollouts)}
    return {name: value for name, value in found.items() if value is not None}


def term_means(rewards: Sequence[Reward]) -> dict[str, float]:
    """Return the mean of each term that the reward's form, or an option on top of it, adds to the components."""
    names = dict.fromkeys(name for reward in rewards for name in reward.terms)
    return {f"term_{name}": mean([one.terms[name] for one in rewards if name in one.terms]) for name in names}


def batch_metrics(samples: Sequence[Sample], group: int) -> Metrics:
    """Return the metrics of one training batch; groups are neighbours, and invalid groups are only counted."""
    groups = [samples[i : i + group] for i in range(0, len(samples), group)]
    scored = [members for members in groups if not invalid(members)]
    spreads = [pstdev([reward_of(sample) for sample in members]) for members in scored]
    rollouts = [sample.rollout for members in scored for sample in members]
    calls = [call for rollout in rollouts for call in rollout.calls]
    totals = [rollout.reward.total for rollout in rollouts if rollout.reward]
    return {
        **outcome_means(rollouts),
        "reward_std": mean(spreads),
        **(spread_of(totals) if totals else {}),
        "zero_variance": mean([float(spread <= EQUAL) for spread in spreads]),
        "invalid_groups": len(groups) - len(scored),
        "dead_tokens": dead_share(groups, lambda sample: len(sample.completion_ids)),
        "rollouts": len(samples),
        "tool_failures": mean([float(call.level < 3) for call in calls]),
        "malformed": mean([float(call.call.arguments is None) for call in calls]),
        "calls": len(calls) / max(1, len(rollouts)),
        "truncated": mean([float(rollout.end == "tokens") for rollout in rollouts]),
        **ends([sample.rollout for sample in samples]),
        **lengths(samples),
        **entropy_of(samples),
        TOOLS: per_tool(calls),
    }


def spread_of(totals: Sequence[float]) -> dict[str, float]:
    return {"reward_min": min(totals), "reward_max": max(totals), "reward_deviation": pstdev(totals)}


def invalid(members: Sequence[Sample]) -> bool:
    """Return whether a group has no signal because a rollout failed through no fault of the policy."""
    return any(sample.rollout.reward is None for sample in members)


def reward_of(sample: Sample) -> float:
    return sample.rollout.reward.total if sample.rollout.reward else 0.0


def lacks_signal(members: Sequence[Sample]) -> bool:
    """Return whether a group gives no training signal: it is invalid, or all of its rewards are the same."""
    return invalid(members) or pstdev([reward_of(sample) for sample in members]) <= EQUAL


def dead_share(groups: Sequence[Sequence[Sample]], size: Callable[[Sample], int]) -> float:
    """Return the share of the samples' total `size` that lies in groups without a training signal."""
    sizes = [(sum(size(sample) for sample in members), lacks_signal(members)) for members in groups]
    total = sum(amount for amount, _ in sizes)
    return sum(amount for amount, lost in sizes if lost) / total if total else 0.0


def count_policy_tokens(sample: Sample) -> int:
    """Return the number of a sample's tokens that the policy wrote."""
    return sum(sample.env_mask)


def ends(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Return the shares of rollouts by end and by the boundary at which they failed, invalid ones included."""
    return {
        **{f"end_{end}": mean([float(one.end == end) for one in rollouts]) for end in get_args(End)},
        **{f"failed_{at}": mean([float(one.failed_at == at) for one in rollouts]) for at in get_args(Boundary)},
    }


def lengths(samples: Sequence[Sample]) -> dict[str, float]:
    """Return mean and maximum tokens of prompts, policy output and completions, and the sum of all tokens."""
    sizes = {
        "prompt_tokens": [len(sample.prompt_ids) for sample in samples],
        "model_tokens": [count_policy_tokens(sample) for sample in samples],
        "completion_tokens": [len(sample.completion_ids) for sample in samples],
    }
    means = {name: mean(values) for name, values in sizes.items()}
    most = {f"{name}_max": max(values, default=0) for name, values in sizes.items()}
    return {**means, **most, "tokens": sum(sizes["prompt_tokens"]) + sum(sizes["completion_tokens"])}


def entropy_of(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the entropy of a token in nats, estimated without bias: the mean surprise of the sampled tokens."""
    surprises = [-value for one in samples for value, mine in zip(one.logprobs, one.env_mask, strict=True) if mine]
    return {"entropy": mean(surprises)} if surprises else {}


def per_tool(calls: Sequence[ExecutedCall]) -> dict[str, list[int]]:
    """Return calls and failed calls by tool name. A call of no offered tool is counted by its kind of error."""
    found: dict[str, list[int]] = {}
    for call in calls:
        name = MALFORMED if call.call.arguments is None else call.call.name if call.level else NOT_OFFERED
        count = found.setdefault(name, [0, 0])
        count[0] += 1
        count[1] += call.level < 3
    return dict(sorted(found.items()))


def update_metrics(logs: Mapping[str, Any]) -> dict[str, float]:
    """Return TRL's update metrics by our names; KL only where there is one."""
    metrics = {ours: float(logs[theirs]) for ours, theirs in LOGGED.items() if logs.get(theirs) is not None}
    return {**metrics, "clipped": float(logs.get("clip_ratio/region_mean") or 0)}
