"""How many conversations of a data set call each tool, and how many use each edge."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from prove_web.trajectories.models import Dataset, Trajectory

from ..graph_queries import Names

BATCH = 500


@dataclass(frozen=True)
class Coverage:
    """Counts of conversations, of `examples` in all."""

    examples: int
    tools: Counter[str]
    edges: Counter[Names]


def coverage(dataset: Dataset) -> Coverage:
    """Counted once for a data set: what is in it does not change."""
    return counted(dataset.pk, dataset.trajectories.count())


@lru_cache(maxsize=8)
def counted(dataset: int, examples: int) -> Coverage:
    """A conversation uses an edge when its ground truth has a step that needs what an earlier one gave."""
    rows = Trajectory.objects.filter(dataset_id=dataset).exclude(tools="").order_by()
    tools, edges = Counter[str](), Counter[Names]()
    for named, needs, steps in rows.values_list("tools", "record__edges", "record__steps").iterator(BATCH):
        tools.update({*named.split(",")})
        calls = [[call["name"] for call in step["calls"]] for step in steps]
        edges.update({(a, b) for giver, taker in needs for a in calls[giver] for b in calls[taker]})
    return Coverage(examples, tools, edges)
