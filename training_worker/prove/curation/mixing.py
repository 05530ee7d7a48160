"""Several data sets in one, each as often as its weight says: the same seed draws the same conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, ldexp

from mcp_servers.kit import Draw

LEAST = 1e-9  # of the largest weight: of less than that nothing is drawn


@dataclass(frozen=True)
class Mixed:
    """`taken` are pairs (which set, which of its conversations), in their new order.

    `duplicates` counts those of each set whose contents one before has, in it or in a set before it.
    """

    taken: tuple[tuple[int, int], ...]
    duplicates: tuple[int, ...]


def mix(sets: Sequence[Sequence[str]], weights: Sequence[float], seed: int = 0, most: int | None = None) -> Mixed:
    """Draw from sets of contents in proportion to weights, as many as there are, or `most`; nothing twice.

    A set that has none, or weighs nothing, takes no part. Conversations keep the order of their set and are spread
    evenly over the whole.
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
    return Mixed(tuple((which, place) for _, which, place in sorted(chosen)), repeated)


def counts(sizes: Sequence[int], weights: Sequence[float], most: int | None = None) -> list[int]:
    """How many to take of each, in proportion to the weights: the most that there are, or that are wanted."""
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
