"""A few draws made at once, to tell before a data set is made what it will be like and how long it will take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import networkx as nx

from ..trajectory import Example
from .conversation import LAST_SEED, Recipe
from .dataset import reasons
from .shards import Draws


@dataclass
class Trial:
    """What came of some draws: the conversations, why trials were dropped, and the seconds that they took.

    `again` is how long the same draws took once their worlds were there, as they are for most draws of a data set whose
    conversations share worlds; None where each has its own. `targets` is how many tools the draws are about in turn.
    """

    drawn: int = 0
    seconds: float = 0.0
    again: float | None = None
    examples: list[Example] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    targets: int = 0

    @property
    def yield_rate(self) -> float:
        """The share of draws that gave a conversation."""
        return len(self.examples) / self.drawn if self.drawn else 0.0

    @property
    def each(self) -> float:
        """Seconds a draw, on one core."""
        return (self.seconds if self.again is None else self.again) / self.drawn if self.drawn else 0.0


def trial(graph: nx.DiGraph, recipe: Recipe, about: Sequence[str], most: int, patience: float) -> Trial:
    """Draw up to `most` conversations, for `patience` seconds at the longest but one at least.

    They are of worlds of their own, spread evenly over the tools, and none of the data set's.
    """
    tools = list(about) or list(graph)
    told = Trial(targets=len(tools))
    draws = Draws(graph, replace(recipe, seed=LAST_SEED), "train")

    def target(index: int) -> str:
        return tools[index * len(tools) // most % len(tools)]

    began = time.monotonic()
    while told.drawn < most and (not told.drawn or told.seconds < patience):
        one = draws.one(told.drawn, None, target(told.drawn))
        told.drawn += 1
        told.dropped.update(reasons([one]))
        told.examples += [one.example] if one.example else []
        told.seconds = time.monotonic() - began
    if recipe.worlds:
        began = time.monotonic()
        draws.make([(index, None, target(index)) for index in range(told.drawn)])
        told.again = time.monotonic() - began
    return told
