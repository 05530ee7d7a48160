"""Zero-variance groups: counted, dropped from the update, or replaced by groups of further prompts.

A group has no signal if its rewards spread by no more than 1e-6, or if one of its rollouts failed through no fault of
the policy. Replacing such groups until the batch is full is DAPO's dynamic sampling (Yu et al. 2025, arXiv 2503.14476,
section 3.2), here with a bound, and with its cost counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from time import perf_counter

import torch

from ..config.grpo import GRPORun
from ..core.trajectory import Example
from ..reward.advantage import advantages, component_advantages
from ..reward.success import is_success
from ..rollout.generate import Sample
from .metrics import EQUAL, invalid, reward_of
from .reward_components import parts_of, weights_of
from .token_advantages import branch_advantages, choices_of

MOST = 3  # the most prompts sampled for one batch, as a multiple of its prompts
Group = list[Sample]


def has_signal(members: Sequence[Sample], config: GRPORun) -> bool:
    """Return whether a group is valid and its rewards, as the update uses them, differ."""
    if invalid(members):
        return False
    if config.normalise == "total":
        return pstdev([reward_of(one) for one in members]) > EQUAL
    rewards = [parts_of(one.rollout.reward) for one in members]
    names = [name for name, weight in weights_of(config.reward).items() if weight]
    columns = [[reward[name] for reward in rewards] for name in names if name in rewards[0]]
    return any(pstdev(column) > EQUAL for column in columns)


def advantages_of(groups: Sequence[Group], config: GRPORun) -> list[float | None]:
    """Return the advantage that TRL computes for each rollout of a batch; None in a group that counts nowhere."""
    out = invalid if config.zero_variance == "keep" else lambda members: not has_signal(members, config)
    breakdowns = [None if out(members) else one.rollout.reward for members in groups for one in members]
    if config.normalise == "components":
        parts = [None if reward is None else parts_of(reward) for reward in breakdowns]
        return component_advantages(parts, weights_of(config.reward), config.group)
    rewards = [None if reward is None else reward.total for reward in breakdowns]
    return advantages(rewards, config.group, config.scale_rewards)


def token_advantages(
    groups: Sequence[Group], config: GRPORun, has_call: Callable[[Sequence[int]], bool]
) -> list[list[float]]:
    """Return the advantages that the update gives the completion tokens, rollout by rollout.

    `has_call` says whether a message of these tokens has a call. The advantage is 0 for a token outside the loss: those
    of tools and users, of void groups, and of masked truncated rollouts.
    """
    flat = [one for members in groups for one in members]
    known = torch.tensor([value or 0.0 for value in advantages_of(groups, config)])
    if config.credit == "branch" and flat:
        choices = [choices_of(one.completion_ids, one.env_mask, has_call) for one in flat]
        table = branch_advantages(choices, known, config.group).tolist()
    else:
        table = [[value] * len(one.completion_ids) for value, one in zip(known.tolist(), flat, strict=True)]
    return [
        [
            value if spoken and not is_muted(one, config) else 0.0
            for value, spoken in zip(row, one.env_mask, strict=False)
        ]
        for row, one in zip(table, flat, strict=True)
    ]


def is_muted(one: Sample, config: GRPORun) -> bool:
    """Return whether the whole rollout is outside the loss because the token limit truncated it."""
    return config.mask_truncated and one.rollout.end == "tokens"


def pass_rate(members: Sequence[Sample]) -> float:
    """Return the share of successes (see reward/success.py); a rollout without a reward is no success."""
    return fmean(float(one.rollout.reward is not None and is_success(one.rollout.reward)) for one in members)


@dataclass
class CollectedGroups:
    """The groups of one batch on one process, and those sampled in vain; `seconds` is the extra sampling time."""

    groups: list[Group]
    wasted: list[Group] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def sampled(self) -> list[Group]:
        return [*self.groups, *self.wasted]


Draw = Callable[[list[int]], list[Example]]
Play = Callable[[Sequence[Example]], list[Group]]
Gather = Callable[[int], list[int]]


def collect(config: GRPORun, count: int, draw: Draw, play: Play, gather: Gather) -> CollectedGroups:
    """Collect `count` groups on this process; with `resample`, groups with a signal as far as the bound allows.

    `gather` returns the count of each process, and `draw` returns this process's part of the prompts that all of them
    draw next. Every process calls both equally often.
    """
    found = CollectedGroups(play(draw(counts := gather(count))))
    left = (MOST - 1) * sum(counts) if config.zero_variance == "resample" else 0
    while left:
        alive, dead = split_by_signal(found.groups, config)
        lacking = gather(len(dead))
        if not any(lacking) or sum(lacking) > left:
            break
        left -= sum(lacking)
        began = perf_counter()
        better, worse = split_by_signal(play(draw(lacking)), config)
        found.seconds += perf_counter() - began
        found.wasted += [*dead[: len(better)], *worse]  # an old dead group is no worse than a new one
        found.groups = [*alive, *better, *dead[len(better) :]]
    return found


def split_by_signal(groups: Sequence[Group], config: GRPORun) -> tuple[list[Group], list[Group]]:
    """Return the groups with a signal, and those without."""
    alive = [members for members in groups if has_signal(members, config)]
    return alive, [members for members in groups if not has_signal(members, config)]
