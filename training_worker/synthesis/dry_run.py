"""Dry run of a dataset: a few draws that show what it will contain and how long it will take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import networkx as nx

from ..core.trajectory import Example
from .conversation import LAST_SEED, Recipe
from .dataset import reasons
from .shards import Draws


@dataclass
class Trial:
    """The result of some draws: the conversations, the reasons of dropped trials, and the seconds they took.

    `again` are the seconds of the same draws with their worlds already built, as for most draws of a dataset whose
    conversations share worlds; None where each has its own. `targets` is how many tools the draws take in turn.
    """

    drawn: int = 0
    seconds: float = 0.0
    again: float | None = None
    examples: list[Example] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    targets: int = 0

    @property
    def yield_rate(self) -> float:
        """Share of draws that gave a conversation."""
        return len(self.examples) / self.drawn if self.drawn else 0.0

    @property
    def each(self) -> float:
        """Seconds per draw on one core."""
        return (self.seconds if self.again is None else self.again) / self.drawn if self.drawn else 0.0


def trial(graph: nx.DiGraph, recipe: Recipe, about: Sequence[str], most: int, patience: float) -> Trial:
    """Draw up to `most` conversations for at most `patience` seconds, but at least one.

    They use worlds that the dataset does not, and are spread evenly over the tools.
    """
    tools = list(about) or list(graph)
    result = Trial(targets=len(tools))
    draws = Draws(graph, replace(recipe, seed=LAST_SEED), "train")

    def target(index: int) -> str:
        return tools[index * len(tools) // most % len(tools)]

    began = time.monotonic()
    while result.drawn < most and (not result.drawn or result.seconds < patience):
        one = draws.make_result(result.drawn, None, target(result.drawn))
        result.drawn += 1
        result.dropped.update(reasons([one]))
        result.examples += [one.example] if one.example else []
        result.seconds = time.monotonic() - began
    if recipe.worlds:
        began = time.monotonic()
        draws.make([(index, None, target(index)) for index in range(result.drawn)])
        result.again = time.monotonic() - began
    return result
