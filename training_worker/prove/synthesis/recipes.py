"""Data sets by name: how many conversations of each kind, out of which worlds (paper, section 2: the training set)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..trajectory import Kind, Split
from .conversation import Recipe
from .knobs import PAPER

WORLDS, HELD_OUT_WORLDS = 64, 16


@dataclass(frozen=True)
class Plan:
    """What one name stands for; `train` and `held_out` say how many conversations of each kind."""

    name: str
    title: str
    train: Mapping[Kind, int]
    held_out: Mapping[Kind, int]
    recipe: Recipe

    def wanted(self, split: Split) -> Mapping[Kind, int]:
        return self.held_out if split == "held_out" else self.train


def plan(name: str, title: str, train: tuple[int, int, int], held_out: tuple[int, int, int]) -> Plan:
    """`train` and `held_out` are chains, missing functions and irrelevant queries."""
    recipe = Recipe(knobs=PAPER, every_edge=True, even=True, worlds=WORLDS, held_out_worlds=HELD_OUT_WORLDS)
    return Plan(name, title, by_kind(train), by_kind(held_out), recipe)


def by_kind(counts: tuple[int, int, int]) -> dict[Kind, int]:
    chains, missing, irrelevant = counts
    return {"chain": chains, "missing_function": missing, "irrelevance": irrelevant}


PLANS = {
    one.name: one
    for one in (
        plan("prove-13k", "the mix of the paper's training set", (10_895, 1_500, 1_122), (400, 56, 44)),
        plan("1k", "the same mix, a thousand conversations", (806, 111, 83), (80, 11, 9)),
        plan("100", "the same mix, to look at", (80, 12, 8), (16, 2, 2)),
    )
}
