"""By which reward an attempt was scored: that of its run, at its step."""

from __future__ import annotations

from prove_web.experiments.models import Run
from prove_web.experiments.reward_config import said, scored_at
from training_worker.prove.reward import PAPER, RewardConfig

from .models import Trajectory


def config_of(trajectory: Trajectory) -> tuple[RewardConfig, str]:
    """The reward, and how pages name it: empty for the paper's, which is also taken where the run is not there."""
    run = run_of(trajectory)
    step = trajectory.origin.get("step") if run else None
    if run is None or not isinstance(step, int):
        return PAPER, ""
    return scored_at(run, step), said(run.config.get("reward"))


def run_of(trajectory: Trajectory) -> Run | None:
    """The run that made an attempt."""
    number = trajectory.origin.get("run")
    if trajectory.rollout is None or not isinstance(number, int):
        return None
    found: Run | None = Run.objects.filter(project=trajectory.dataset.project_id, number=number).first()
    return found
