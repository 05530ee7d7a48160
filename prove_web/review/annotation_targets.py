"""Annotation targets of a trajectory: its user turns and its calls, numbered as on its page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from prove_web.trajectories.conversation import Turn, of_example, of_rollout
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.replay_score import example_of
from training_worker.core.trajectory import Rollout, loads


@dataclass(frozen=True)
class TurnTarget:
    """A turn: the user's message, and everything until the next one."""

    number: int
    text: str


@dataclass(frozen=True)
class CallTarget:
    """A call that was run, with its arguments; None if the arguments could not be parsed."""

    number: int
    tool: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True)
class Shape:
    """The turns and the calls of a trajectory, by number from 1; none if its record can't be read."""

    turns: tuple[TurnTarget, ...] = ()
    calls: tuple[CallTarget, ...] = ()


def shape_of(trajectory: Trajectory) -> Shape:
    """Return the targets of a trajectory as it was recorded, without a replay."""
    turns = turns_of(trajectory)
    texts = [turn.text for turn in turns if turn.role == "user"]
    said = tuple(TurnTarget(number, text) for number, text in enumerate(texts, start=1))
    cards = (card for turn in turns for card in turn.calls if card.number is not None)
    return Shape(said, tuple(CallTarget(card.number, card.tool, card.arguments) for card in cards))


def turns_of(trajectory: Trajectory) -> list[Turn]:
    example = example_of(trajectory)
    if trajectory.rollout is None:
        return of_example(example) if example else []
    try:
        return of_rollout(loads(Rollout, json.dumps(trajectory.rollout)), example)
    except ValidationError:
        return []
