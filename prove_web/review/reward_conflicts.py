"""Conflicts of people and the reward: accepted trajectories with a low score, rejected ones with a high score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from prove_web.accounts.models import Project, User

from .create_queue import make_queue
from .models import Queue
from .reward_agreement import JudgedTrajectory
from .schema import PLAIN

Side = Literal["", "low", "high"]
MOST = 1000  # items of a queue of conflicts


def disagreements(
    units: Sequence[JudgedTrajectory], part: str, threshold: float, side: Side = ""
) -> list[JudgedTrajectory]:
    """Return the units on which they differ, the farthest from the threshold first.

    `low` are accepted by people and score below it, `high` are not accepted and score at least the threshold.
    """
    found = [
        one
        for one in units
        if part in one.scores
        and one.accepted != (one.scores[part] >= threshold - 1e-9)
        and side in ("", "low" if one.accepted else "high")
    ]
    return sorted(found, key=lambda one: (-abs(one.scores[part] - threshold), one.item))


def queue_of(project: Project, user: User, found: Sequence[JudgedTrajectory], how: dict[str, Any]) -> Queue:
    """Create a queue of these trajectories, each once, to review again; `how` says what the conflict was about.

    Raises ValueError for none.
    """
    trajectories = [*dict.fromkeys(one.trajectory for one in found)][:MOST]
    if not trajectories:
        raise ValueError(
            "Reviewers and the reward agree on all of these trajectories. There is nothing to put in a queue."
        )
    return make_queue(
        project,
        user,
        trajectories,
        name="Reviewers vs. reward",
        instructions="Reviewers and the reward disagreed on each of these trajectories. Review each one again.",
        schema=PLAIN.model_dump(mode="json"),
        source={"query": "", "dataset": None},
        sampling={"how": "disagreements", "n": len(trajectories), **how},
    )
