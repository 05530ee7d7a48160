"""Anchors of comments in a trajectory: the whole, a user turn, or a call."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prove_web.trajectories.conversation import of_example, of_rollout
from prove_web.trajectories.models import Trajectory

from .trajectory_content import NotChecked, attempt_of, example_of

PLACE = re.compile(r"(turn|call)-([1-9]\d{0,3})")


@dataclass(frozen=True, order=True)
class Place:
    """Numbers count from 1, as on the page; if both are None, the whole trajectory."""

    turn: int | None = None
    call: int | None = None

    @property
    def key(self) -> str:
        """The name in forms and anchors; "" for the whole."""
        return f"call-{self.call}" if self.call else f"turn-{self.turn}" if self.turn else ""

    @property
    def title(self) -> str:
        return self.key.replace("-", " ").capitalize() or "Whole trajectory"

    @property
    def order(self) -> tuple[int, int]:
        """The sort key: the whole first, then turns, then calls."""
        return (2 if self.call else 1 if self.turn else 0, self.call or self.turn or 0)


TRAJECTORY = Place()


def read_place(text: str) -> Place:
    """Return the place that a form names; the whole for anything else."""
    found = PLACE.fullmatch(text)
    return Place(**{found[1]: int(found[2])}) if found else TRAJECTORY


def places(trajectory: Trajectory) -> list[Place]:
    """Return all places for comments, in order."""
    try:
        example, attempt = example_of(trajectory), attempt_of(trajectory)
    except NotChecked:
        return [TRAJECTORY]
    turns = of_rollout(attempt, example) if attempt else of_example(example) if example else []
    count = sum(turn.role == "user" for turn in turns)
    calls = sorted(call.number for turn in turns for call in turn.calls if call.number)
    return [TRAJECTORY, *(Place(turn=at) for at in range(1, count + 1)), *(Place(call=at) for at in calls)]
