"""Credit assignment within a rollout: to all of its tokens alike, or to those at which the group's rollouts diverge.

GRPO gives each token of a rollout the rollout's advantage (paper, section 4; Shao et al. 2024). Rollouts of one prompt
start in the same world, so a group is a tree of choices from which each token's own advantage can be computed: the mean
reward of the rollouts that chose this token, less the mean of all rollouts that reached the choice. Summed over the
rollouts at a choice this is the leave-one-out policy gradient (Kool et al. 2019) of that choice with a baseline of that
very state, so it has less noise.

Rollouts that made the same calls are in the same state, whatever the wording of their answers: no reward depends on it.
So a message without a call is one choice, to answer, and its words get no credit. A choice that only one rollout
reached cannot be compared and gets no credit: its contribution to the gradient is left out.

The second form is the default here (`credit="branch"`) and not part of GRPO; `credit="rollout"` is plain GRPO.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from ..policy.model_families import family_of

ANSWER = -1  # stands for a message without a call


@dataclass(frozen=True)
class Choices:
    """The tokens of a completion as choices, each message without a call as one, with their places in it."""

    tokens: Sequence[int]
    places: Sequence[int]
    length: int


def choices_of(ids: Sequence[int], spoken: Sequence[int], has_call: Callable[[Sequence[int]], bool]) -> Choices:
    """Return the choices of a completion; `spoken` (length of ids) is 1 where the policy wrote."""

    def pairs() -> Iterator[tuple[int, int]]:
        for mine, run in groupby(range(len(ids)), key=lambda at: bool(spoken[at])):
            places = list(run)
            if mine and not has_call([ids[at] for at in places]):
                yield ANSWER, places[0]
            else:
                yield from ((ids[at], at) for at in places)

    tokens, places = zip(*pairs(), strict=True) if len(ids) else ((), ())
    return Choices(tokens, places, len(ids))


def call_finder(tokenizer: PreTrainedTokenizerFast) -> Callable[[Sequence[int]], bool]:
    """Return a function that says whether tokens of a message have a call, even a malformed one.

    Raises UnknownFamily.
    """
    format = family_of(tokenizer).format
    return lambda ids: bool(format.parse(str(tokenizer.decode(list(ids))), 1))


def branch_advantages(rollouts: Sequence[Choices], rewards: Tensor, size: int) -> Tensor:
    """Return advantages (samples, longest completion), 0 except where the rollouts of a group diverge.

    Each `size` neighbours are a group. `rewards` (samples,) may be off by a constant within a group. Equal prompts do
    not make a group: a batch may have the same example twice, and one of the two may be void.
    """
    values = rewards.tolist()
    advantages = torch.zeros(len(rollouts), max(one.length for one in rollouts))
    for start in range(0, len(rollouts), size):
        branches = [(list(range(start, min(start + size, len(rollouts)))), 0)]
        while branches:
            here, time = branches.pop()
            if len(here) < 2:
                continue
            time = find_divergence([one.tokens for one in rollouts], here, time)
            here = [i for i in here if time < len(rollouts[i].tokens)]  # a truncated rollout made no choice
            taken: dict[int, list[int]] = {}
            for i in here:
                taken.setdefault(rollouts[i].tokens[time], []).append(i)
            for those in taken.values():
                branches.append((those, time + 1))
                if len(here) > 1:
                    gain = mean_of(values, those) - mean_of(values, here)
                    for i in those:
                        advantages[i, rollouts[i].places[time]] = gain * len(here) / (len(here) - 1)
    return advantages


def find_divergence(completions: Sequence[Sequence[int]], here: Sequence[int], time: int) -> int:
    """Return the first position from `time` on at which these completions are not all the same."""
    first, shortest = completions[here[0]], min(len(completions[i]) for i in here)
    while time < shortest and all(completions[i][time] == first[time] for i in here):
        time += 1
    return time


def mean_of(values: Sequence[float], chosen: Sequence[int]) -> float:
    return sum(values[i] for i in chosen) / len(chosen)
