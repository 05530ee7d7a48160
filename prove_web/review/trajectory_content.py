"""Content of a trajectory: its example, and its rollout if it has one."""

from __future__ import annotations

import json

from pydantic import ValidationError

from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.replay_score import example_of
from training_worker.core.trajectory import Example, Rollout, loads


class NotChecked(Exception):
    """Error if there is nothing to replay and therefore to accept; the message says why."""


def load_replay_input(trajectory: Trajectory) -> tuple[Example, Rollout | None]:
    """Return what a trajectory holds, ready for a replay. Raises NotChecked."""
    example, attempt = example_of(trajectory), attempt_of(trajectory)
    if example is None:
        raise NotChecked("The trajectory was recorded by another version of PROVE Studio and cannot be replayed.")
    if attempt is not None and not attempt.valid:
        raise NotChecked(f"This rollout failed for a reason outside the policy and cannot be accepted: {attempt.error}")
    return example, attempt


def attempt_of(trajectory: Trajectory) -> Rollout | None:
    """Return the rollout, None for a demonstration. Raises NotChecked if the current code can't read it."""
    if trajectory.rollout is None:
        return None
    try:
        return loads(Rollout, json.dumps(trajectory.rollout))
    except ValidationError:
        raise NotChecked("The rollout was recorded by another version of PROVE Studio and cannot be read.") from None
