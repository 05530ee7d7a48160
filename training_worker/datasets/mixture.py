"""Weighted mixing of datasets; the same seed draws the same conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, ldexp

from mcp_servers.core import Draw

LEAST = 1e-9  # share of the largest weight; nothing is drawn from a dataset with a smaller weight


@dataclass(frozen=True)
class MixingResult:
    """The result of mixing: `taken` has pairs (index of the dataset, index of the conversation) in their new order.

    `duplicates` counts, per dataset, the conversations whose contents occurred before, in it or in an earlier dataset.
    """

    taken: tuple[tuple[int, int], ...]
    duplicates: tuple[int, ...]


def mix(
    sets: Sequence[Sequence[str]], weights: Sequence[float], seed: int = 0, most: int | None = None
) -> MixingResult:
    """Draw from datasets of contents in proportion to weights, as many as possible or `most`, without duplicates.

    A dataset that is empty or has weight 0 is ignored. Conversations keep the order of their dataset and are spread
    evenly over the result.
    """
    distinct, seen = list[list[int]](), set[str]()
    for contents in sets:
        mine = []
        for place, one in enumerate(contents):
            if one not in seen:
                seen.add(one)
                mine.append(place)
        distinct.append(mine)
    wanted = counts([len(mine) for mine in distinct], weights, most)
    chosen = []
    for which, (mine, many) in enumerate(zip(distinct, wanted, strict=True)):
        drawn = sorted(Draw("mix", seed, which).sample(range(len(mine)), many))
        chosen += [((at + 0.5) / many, which, mine[place]) for at, place in enumerate(drawn)]
    repeated = tuple(len(contents) - len(mine) for contents, mine in zip(sets, distinct, strict=True))
    return MixingResult(tuple((which, place) for _, which, place in sorted(chosen)), repeated)


def counts(sizes: Sequence[int], weights: Sequence[float], most: int | None = None) -> list[int]:
    """Return how many to take from each dataset in proportion to the weights: as many as possible, or `most`."""
    _, exponent = frexp(max((weight for size, weight in zip(sizes, weights, strict=True) if size), default=0.0))
    near_one = [ldexp(weight, -exponent) if size else 0.0 for size, weight in zip(sizes, weights, strict=True)]
    parts = [(size, weight) for size, weight in zip(sizes, near_one, strict=True) if weight > LEAST]
    if not parts:
        return [0] * len(sizes)
    scale = min(size / weight for size, weight in parts)
    if most is not None:
        scale = min(scale, most / sum(weight for _, weight in parts))
    return [
        min(size, int(weight * scale + 1e-9)) if weight > LEAST else 0
        for size, weight in zip(sizes, near_one, strict=True)
    ]
