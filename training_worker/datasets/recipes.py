"""Named dataset plans: numbers of conversations of each kind, and worlds (paper, section 2: the training set)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx

from ..core.trajectory import Kind, Split
from ..graph.dependency_graph import part
from ..synthesis.conversation import Recipe
from ..synthesis.knobs import PAPER, TINY, Knobs

WORLDS = 24  # with half as many held-out ones, a process stays under 600 MB
UNSEEN = ("payments", "food_delivery", "issue_tracker", "vehicle")
"""Servers of four categories with 67 tools; food delivery uses places and payments, so some chains cross servers."""


@dataclass(frozen=True)
class Plan:
    """A dataset plan; `train` and `held_out` are the numbers of conversations of each kind.

    Tools of the `unseen` servers occur only in held-out conversations, which have no other tools.
    """

    name: str
    title: str
    train: Mapping[Kind, int]
    held_out: Mapping[Kind, int]
    recipe: Recipe
    unseen: tuple[str, ...] = ()

    def graph(self, full: nx.DiGraph, split: Split) -> nx.DiGraph:
        """Return the graph of the tools that a split is about."""
        if not self.unseen:
            return full
        servers = dict.fromkeys(server for _, server in full.nodes(data="server"))
        return part(full, [name for name in servers if (name in self.unseen) == (split == "held_out")])

    def get_kind_counts(self, split: Split) -> Mapping[Kind, int]:
        return self.held_out if split == "held_out" else self.train


def plan(
    name: str,
    title: str,
    train: tuple[int, int, int],
    held_out: tuple[int, int, int],
    unseen: tuple[str, ...] = (),
    worlds: int = WORLDS,
    knobs: Knobs = PAPER,
    size: str = "default",
) -> Plan:
    """Return a plan; `train` and `held_out` count chains, missing functions and irrelevant queries.

    The training conversations share `worlds` worlds, the held-out ones half as many.
    """
    recipe = Recipe(size=size, knobs=knobs, worlds=worlds, held_out_worlds=max(1, worlds // 2))
    return Plan(name, title, by_kind(train), by_kind(held_out), recipe, unseen)


def by_kind(counts: tuple[int, int, int]) -> dict[Kind, int]:
    chains, missing, irrelevant = counts
    return {"chain": chains, "missing_function": missing, "irrelevance": irrelevant}


PLANS = {
    one.name: one
    for one in (
        plan("prove-13k", "the mix of the paper's training set", (10_895, 1_500, 1_122), (400, 56, 44)),
        plan(
            "unseen-servers",
            "the same mix, four servers held out as a whole",
            (10_895, 1_500, 1_122),
            (400, 56, 44),
            UNSEEN,
        ),
        plan("1k", "the same mix, a thousand conversations", (806, 111, 83), (80, 11, 9), worlds=16),
        plan("100", "the same mix, to look at", (80, 12, 8), (16, 2, 2), worlds=8),
        plan(
            "tiny",
            "few tools and small worlds, for a policy that a laptop trains",
            (806, 111, 83),
            (80, 11, 9),
            knobs=TINY,
            size="small",
        ),
    )
}
