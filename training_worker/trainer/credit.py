"""Where in a rollout credit goes: to all of its tokens alike, or to those at which the group's rollouts part.

GRPO gives each token of a rollout the rollout's advantage (paper, section 4; Shao et al. 2024). Rollouts of one prompt
meet the same world, so a group is a tree of tokens, and a token's own advantage can be read off it: the mean reward of
the rollouts that chose this token, less the mean of all that came to the choice. Summed over the rollouts at a choice
this is the leave-one-out policy gradient (Kool et al. 2019) of that choice with a baseline of that very state, so it
has less noise. A choice that only one rollout came to has nothing to be compared with and gets none: the gradient of
late choices, at which the rollouts of a group have parted, is left out.

The second is the default here (`credit="branch"`) and no part of GRPO; `credit="rollout"` is plain GRPO.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def branch_advantages(completions: Sequence[Sequence[int]], rewards: Tensor, size: int) -> Tensor:
    """Advantages (samples, longest completion), 0 but where rollouts part; so many neighbours are a group.

    `rewards` (samples,) may be off by a constant within a group. Equal prompts do not make a group: the same example
    may be asked twice in a batch, and one of the two be void.
    """
    values = rewards.tolist()
    advantages = torch.zeros(len(completions), max(map(len, completions)))
    for start in range(0, len(completions), size):
        choices = [(list(range(start, min(start + size, len(completions)))), 0)]
        while choices:
            here, time = choices.pop()
            if len(here) < 2:
                continue
            time = parting(completions, here, time)
            here = [i for i in here if time < len(completions[i])]  # one that was cut short made no choice
            taken: dict[int, list[int]] = {}
            for i in here:
                taken.setdefault(completions[i][time], []).append(i)
            for those in taken.values():
                choices.append((those, time + 1))
                if len(here) > 1:
                    gain = mean_of(values, those) - mean_of(values, here)
                    advantages[those, time] = gain * len(here) / (len(here) - 1)
    return advantages


def parting(completions: Sequence[Sequence[int]], here: Sequence[int], time: int) -> int:
    """The first position from `time` on at which these completions are not all the same."""
    first, shortest = completions[here[0]], min(len(completions[i]) for i in here)
    while time < shortest and all(completions[i][time] == first[time] for i in here):
        time += 1
    return time


def mean_of(values: Sequence[float], chosen: Sequence[int]) -> float:
    return sum(values[i] for i in chosen) / len(chosen)
