"""The conversations that one process makes per second, by the recipe `1k` and without a language model."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from ..datasets.recipes import PLANS
from ..graph.dependency_graph import load_or_build
from ..synthesis.shards import Draws

CONVERSATIONS, ROUND = 200, 40


def per_second(folder: Path) -> float:
    """Return the median over rounds, after an uncounted one that builds worlds. The graph is stored in the folder."""
    plan = PLANS["1k"]
    draws = Draws(load_or_build(folder), plan.recipe, "train")
    speeds = []
    for first in range(0, ROUND + CONVERSATIONS, ROUND):
        start = time.perf_counter()
        made = sum(one.example is not None for one in draws.make([(first + i, None, None) for i in range(ROUND)]))
        speeds.append(made / (time.perf_counter() - start))
    return statistics.median(speeds[1:])
