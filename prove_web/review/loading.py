"""What a trajectory holds, read: its example, and the attempt at it where it is one."""

from __future__ import annotations

import json

from pydantic import ValidationError

from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.replay_score import example_of
from training_worker.prove.trajectory import Example, Rollout, loads


class NotChecked(Exception):
    """There is nothing to replay, so nothing is accepted; the message says why."""


def recorded(trajectory: Trajectory) -> tuple[Example, Rollout | None]:
    """What a trajectory holds, ready to be run. Raises NotChecked."""
    example, attempt = example_of(trajectory), attempt_of(trajectory)
    if example is None:
        raise NotChecked("The trajectory was recorded by another version of PROVE Studio and cannot be replayed.")
    if attempt is not None and not attempt.valid:
        raise NotChecked(f"This rollout failed for a reason outside the policy and cannot be accepted: {attempt.error}")
    return example, attempt


def attempt_of(trajectory: Trajectory) -> Rollout | None:
    """The recorded attempt, None for a demonstration. Raises NotChecked for one that today's code cannot read."""
    if trajectory.rollout is None:
        return None
    try:
        return loads(Rollout, json.dumps(trajectory.rollout))
    except ValidationError:
        raise NotChecked("The rollout was recorded by another version of PROVE Studio and cannot be read.") from None
