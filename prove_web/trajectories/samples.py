"""Random samples of conversations by seed, the same in the terminal and in the browser."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TypeVar

from django.db.models import QuerySet

from training_worker.core.trajectory import Example, Rollout

from .call_card import CallCard, Turn
from .choices import KINDS, feature_name
from .conversation import of_example, of_rollout
from .demonstration import build_demonstration_rollout
from .detail import add_value_sources
from .models import Trajectory
from .replay_score import example_of, rollout_of

T = TypeVar("T")
SIZE = 20  # conversations


@dataclass(frozen=True)
class SampledTrajectory:
    """A conversation of a sample: its turns with the sources of values, and its special features.

    It has no `example` if its record can't be read.
    """

    number: int
    trajectory: Trajectory
    example: Example | None = None
    turns: tuple[Turn, ...] = ()
    tags: tuple[str, ...] = ()


def draw(found: Iterable[tuple[str, T]], seed: int, size: int = SIZE) -> list[T]:
    """Return up to `size` of the values, each of which comes with its id; memory does not grow with their number.

    A hash decides the order: a filtered dataset is drawn in the same order as the whole.
    """
    ranked = ((blake2b(f"{seed} {id}".encode(), digest_size=8).digest(), id, value) for id, value in found)
    return [value for _, _, value in heapq.nsmallest(size, ranked, key=lambda one: one[:2])]


def sample(rows: QuerySet[Trajectory], seed: int) -> tuple[list[SampledTrajectory], int]:
    """Return a sample of some trajectories, and how many there are."""
    ids = list(rows.order_by().values_list("example", "pk"))
    chosen = draw(ids, seed)
    found = Trajectory.objects.select_related("dataset__project__organisation").in_bulk(chosen)
    return [build_sampled_trajectory(number, found[pk]) for number, pk in enumerate(chosen, 1) if pk in found], len(ids)


def build_sampled_trajectory(number: int, trajectory: Trajectory) -> SampledTrajectory:
    """Return a trajectory for a sample, without its reward and without a replay."""
    example = example_of(trajectory)
    if example is None:
        return SampledTrajectory(number, trajectory)
    turns = turns_of(example, rollout_of(trajectory), f"c{number}-")
    return SampledTrajectory(number, trajectory, example, tuple(turns), tuple(tags(example)))


def turns_of(example: Example, attempt: Rollout | None = None, side: str = "") -> list[Turn]:
    """Return the turns of a demonstration, or of a rollout of it, with the sources of values."""
    if attempt:
        attempt = replace(attempt, reward=None)
        return [simplify_turn(turn) for turn in add_value_sources(of_rollout(attempt, example), attempt, example, side)]
    return [
        simplify_turn(turn)
        for turn in add_value_sources(of_example(example), build_demonstration_rollout(example), example, side)
    ]


def simplify_turn(turn: Turn) -> Turn:
    """Return a turn with badges only on failed calls and links only for required effects: values show their sources."""
    return replace(turn, calls=tuple(without_chips(card) for card in turn.calls))


def without_chips(card: CallCard) -> CallCard:
    effects = tuple(one for one in card.fed if not one.argument)
    return replace(card, fed=effects, chips=() if card.ok else card.chips)


def tags(example: Example) -> list[str]:
    """Return labels of what is special about an example."""
    found = [dict(KINDS)[example.kind]] if example.kind != "chain" else []
    found += [f"Level {example.level}"] if example.level != "complete" else []
    return [*found, *map(feature_name, example.features)]
