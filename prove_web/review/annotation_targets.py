"""What a trajectory offers to be judged apart: its user turns and its calls, numbered as its page numbers them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from prove_web.trajectories.conversation import Turn, of_example, of_rollout
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.replay_score import example_of
from training_worker.prove.trajectory import Rollout, loads


@dataclass(frozen=True)
class Said:
    """One turn: what the user says, and all that is done until they speak again."""

    number: int
    text: str


@dataclass(frozen=True)
class CallTarget:
    """One call that was run, with the arguments it had; None for one whose arguments could not be read."""

    number: int
    tool: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True)
class Shape:
    """The turns and the calls of a trajectory, each by its number from 1; none for a record that cannot be read."""

    turns: tuple[Said, ...] = ()
    calls: tuple[CallTarget, ...] = ()


def shape_of(trajectory: Trajectory) -> Shape:
    """What a trajectory consists of as it was recorded; nothing is run."""
    turns = turns_of(trajectory)
    asked = [turn.text for turn in turns if turn.role == "user"]
    said = tuple(Said(number, text) for number, text in enumerate(asked, start=1))
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
